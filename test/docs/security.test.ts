// The response limits in docs/security.md, compared with the API.
import { expect } from 'chai';
import { contractServices } from '../core/access/contract-services.ts';
import { readPage } from './markdown.ts';

describe('docs/security.md', () => {
  it("names the limit of every RPC's response", async () => {
    const [, answers = ''] = readPage('docs/security.md').split('## Answers');
    const [table = ''] = answers.split('\n## ');
    const rows = table.split('\n').filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) =>
      [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    const methods = (await contractServices()).flatMap((service) => service.methods.map(({ name }) => name));
    expect([...named].sort()).to.deep.equal([...new Set(methods)].sort());
  });
});
