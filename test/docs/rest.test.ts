import { expect } from 'chai';
import { PROBLEMS } from '../../gateway/problem.ts';
import { codeRows, readPage } from './markdown.ts';

describe('docs/rest.md', () => {
  it('lists every error code with its status', () => {
    const [, section = ''] = readPage('docs/rest.md').split('## Errors');
    const rows = codeRows(section).map(([code, status]) => [code, Number(status)]);
    expect(rows).to.deep.equal(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]));
  });
});
