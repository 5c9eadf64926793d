// The page on scripts: its commands work, and print the shown output.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { fencedBlocks, readPage } from './markdown.ts';
import { onDemo, steady, steps } from './run-doc-commands.ts';

describe('docs/scripting.md', () => {
  const page = readPage('docs/scripting.md');

  it('shows the real output of commands, and a script that works', async function () {
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
