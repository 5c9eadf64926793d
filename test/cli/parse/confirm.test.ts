// The yes-or-no question.
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { canPrompt, confirm } from '../../../cli/parse/confirm.ts';

function terminal() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  return { stdin, stdout: new PassThrough(), stderr: new PassThrough() };
}

describe('a confirmation', () => {
  it('requires y or yes', async () => {
    for (const [typed, expected] of [
      ['y\n', true],
      ['YES\n', true],
      ['\n', false],
      ['n\n', false],
      ['yep\n', false],
    ] as const) {
      const streams = terminal();
      streams.stdin.write(typed);
      expect(await confirm('Sure?', streams), typed).to.equal(expected);
      expect(String(streams.stderr.read()), typed).to.contain('Sure? [y/N] ');
      expect(streams.stdout.read(), typed).to.equal(null);
    }
  });

  it('fails at the end of the input', async () => {
    const streams = terminal();
    streams.stdin.end();
    expect(await confirm('Sure?', streams)).to.equal(false);
  });

  it('requires a terminal on both ends', () => {
    const { stdin, stdout, stderr } = terminal();
    expect(canPrompt({ stdin: new PassThrough(), stdout, stderr })).to.equal(false);
    expect(canPrompt({ stdin, stdout, stderr })).to.equal(false);
    expect(canPrompt({ stdin, stdout, stderr: Object.assign(stderr, { isTTY: true }) })).to.equal(true);
  });
});
