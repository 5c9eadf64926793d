// The manual of hubctl: pages that their readers find no fault with, commands that work.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { fencedBlocks, ROOT, readPage } from './markdown.ts';
import { onDemo, steady, steps } from './tour.ts';

const MAN = new URL('docs/man/', ROOT);
const PAGES = readdirSync(MAN).map((name) => fileURLToPath(new URL(name, MAN)));

describe('docs/man', () => {
  for (const [reader, ...words] of [
    ['mandoc', '-Tlint', '-Wstyle'],
    ['groff', '-man', '-ww', '-Tutf8'],
  ] as const) {
    it(`gives ${reader} nothing to complain of`, async function () {
      this.timeout(30_000); // it starts programs
      const found = await promisify(execFile)(reader, [...words, ...PAGES], { maxBuffer: 1 << 24 }).catch(
        (error) => error,
      );
      if (found.code === 'ENOENT') return this.skip();
      // A date would be that of a release, and the page is older or newer.
      const complaints = `${reader === 'mandoc' ? found.stdout : ''}${found.stderr}`.split('\n');
      expect(complaints.filter((line) => line !== '' && !line.includes('missing date'))).to.deep.equal([]);
    });
  }
});

describe('docs/scripting.md', () => {
  const page = readPage('docs/scripting.md');

  it('shows what commands print, and a script that works', async function () {
    this.timeout(120_000); // it starts a program for each command
    const hasJq = await promisify(execFile)('jq', ['--version']).catch(() => undefined);
    if (hasJq === undefined) return this.skip();
    const shown = fencedBlocks(page, 'console').flatMap(steps);
    const script = fencedBlocks(page, 'sh').find((block) => block.startsWith('set -e')) ?? '';
    const outcomes = await onDemo([
      `hubctl() { node cli/hubctl.js "$@"; }`,
      ...shown.map(({ command }) => command),
      `(${script})`,
    ]);
    const [, ...told] = outcomes;
    expect(told.slice(0, -1).map(({ output }) => steady(output))).to.deep.equal(
      shown.map(({ output }) => steady(output)),
    );
    expect(told.at(-1)).to.include({ code: 0 });
    expect(told.at(-1)?.output.trim()).to.match(/^pay at http:\S+\npending$/);
  });
});
