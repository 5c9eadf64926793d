import { expect } from 'chai';
import { HUB_ERRORS } from '../../core/errors.ts';
import { codeRows, readPage } from './markdown.ts';

describe('docs/reference/errors.md', () => {
  it('lists every error code with its kind', () => {
    const rows = codeRows(readPage('docs/reference/errors.md')).map(([code = '', kind]) => [code, kind]);
    expect(Object.fromEntries(rows)).to.deep.equal(HUB_ERRORS);
  });
});
