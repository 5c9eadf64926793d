import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { CASES } from '../vectors/vectors.ts';
import { codeRows, ROOT, readPage } from './markdown.ts';

const PAGE = readPage('docs/verifying.md');

describe('docs/verifying.md', () => {
  it('lists every reason for refusing a license', () => {
    const [, section = ''] = PAGE.split('## What a verifier does');
    const reasons = codeRows(section).map(([reason]) => reason);
    expect(['ok', ...reasons]).to.have.members([...new Set(CASES.map(({ expected }) => expected))]);
  });

  it('links to every sample', () => {
    const linked = [...PAGE.matchAll(/\]\(verify\/([^/]+)\//g)].map(([, folder]) => folder);
    expect(linked).to.have.members(readdirSync(new URL('docs/verify/', ROOT)));
  });
});
