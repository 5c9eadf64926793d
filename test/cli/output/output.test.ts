// Tables, records and JSON on standard output.
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { createOutput, type Output } from '../../../cli/output/output.ts';
import type { Column } from '../../../cli/output/table.ts';
import { textWidth } from '../../../cli/output/text-width.ts';

type Row = { name: string; n?: number };

const COLUMNS: Column<Row>[] = [
  { title: 'NAME', cell: (row) => row.name },
  { title: 'N', cell: (row) => row.n, right: true },
];

async function printed(json: boolean, print: (out: Output) => Promise<unknown>) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  await print(createOutput({ stdout, stderr }, () => json));
  stdout.end();
  stderr.end();
  return { stdout: await text(stdout), stderr: await text(stderr) };
}

describe('output', () => {
  it('aligns columns, numbers to the right, and shows - for empty values', async () => {
    const rows: Row[] = [{ name: 'a', n: 100 }, { name: '' }];
    const { stdout } = await printed(false, (out) => out.list([rows], COLUMNS));
    expect(stdout).to.equal('NAME    N\na     100\n-       -\n');
  });

  it('prints the header once for all pages', async () => {
    const pages: Row[][] = [[{ name: 'a', n: 1 }], [], [{ name: 'b', n: 2 }]];
    const { stdout } = await printed(false, (out) => out.list(pages, COLUMNS));
    expect(stdout).to.equal('NAME  N\na     1\nb     2\n');
  });

  it('counts wide characters as two columns and combining marks as none', () => {
    expect(textWidth('日本')).to.equal(4);
    expect(textWidth('e\u0301')).to.equal(1);
    expect(textWidth('👩‍👧')).to.equal(2);
    expect(textWidth('Ünïcode')).to.equal(7);
  });

  it('escapes control characters and direction overrides, in text and in JSON', async () => {
    const row = { name: 'x\u001b[31m\u009b\u202ey\n' };
    const asText = await printed(false, (out) => out.record(row, COLUMNS));
    expect(asText.stdout).to.equal('NAME  x\\u001b[31m\\u009b\\u202ey\\u000a\n');
    const asJson = await printed(true, (out) => out.record(row, COLUMNS));
    expect(asJson.stdout)
      .to.contain('\\u009b\\u202ey\\n')
      .and.not.to.match(/[\u007f-\u009f\u202e]/);
    expect(JSON.parse(asJson.stdout)).to.deep.equal(row);
  });

  it('prints pages as one JSON array', async () => {
    const pages: Row[][] = [[{ name: 'a' }, { name: 'b' }], [{ name: 'c' }]];
    const some = await printed(true, (out) => out.list(pages, COLUMNS));
    expect(JSON.parse(some.stdout)).to.deep.equal(pages.flat());
    const none = await printed(true, (out) => out.list([[]], COLUMNS));
    expect(JSON.parse(none.stdout)).to.deep.equal([]);
  });

  it('keeps notes off standard output, and off standard error with JSON', async () => {
    const note = async (out: Output) => out.note('hello');
    expect(await printed(false, note)).to.deep.equal({ stdout: '', stderr: 'hello\n' });
    expect(await printed(true, note)).to.deep.equal({ stdout: '', stderr: '' });
  });
});
