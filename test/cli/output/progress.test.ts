// The progress line.
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { createOutput } from '../../../cli/output/output.ts';
import { bar, createProgress } from '../../../cli/output/progress.ts';
import { until } from '../../support/until.ts';

function terminal(isTTY = true) {
  const stderr = Object.assign(new PassThrough(), { isTTY, columns: 40 });
  let drawn = '';
  stderr.on('data', (chunk) => {
    drawn += chunk;
  });
  return { stderr, drawn: () => drawn, lines: () => drawn.split('\r\x1b[2K') };
}

describe('progress', () => {
  it('appears after one second, is updated, and is cleared at the end', async () => {
    const { stderr, drawn, lines } = terminal();
    const progress = createProgress({ stderr }, {});
    let done = 0;
    const line = progress.show(() => bar('Issuing', done, 4));
    const soon = progress.show(() => 'soon over');
    soon.end();
    expect(drawn()).to.equal('');
    await until(() => drawn() !== '', 'it is drawn');
    expect(lines()).to.deep.equal(['', `Issuing ${'░'.repeat(30)} `]); // cut, as it may not wrap
    done = 2;
    await until(() => drawn().includes('█'.repeat(15)), 'it goes on');
    line.end();
    expect(lines().at(-1)).to.equal('');
  });

  it('is replaced by a more exact line, and by output', async () => {
    const { stderr, drawn, lines } = terminal();
    const progress = createProgress({ stderr }, {});
    const outer = progress.show(() => 'outer');
    const inner = progress.show(() => 'inner');
    await until(() => drawn().includes('inner, 1 s'), 'the inner one is drawn');
    expect(drawn()).not.to.contain('outer');
    const out = createOutput({ stdout: stderr, stderr }, () => false, progress);
    await out.text('result\n');
    expect(lines().at(-1)).to.equal('result\n');
    inner.end();
    await until(() => drawn().includes('outer, '), 'the outer one is back');
    outer.end();
  });

  it('is hidden in pipes, builds and dumb terminals', async () => {
    const quiet = [
      [terminal(false), {}],
      [terminal(), { CI: 'true' }],
      [terminal(), { TERM: 'dumb' }],
    ] as const;
    const lines = quiet.map(([{ stderr }, environment]) =>
      createProgress({ stderr }, environment).show(() => 'x'),
    );
    const { stderr, drawn } = terminal();
    const shown = createProgress({ stderr }, {}).show(() => 'x');
    await until(() => drawn() !== '', 'a terminal shows it');
    for (const line of [...lines, shown]) line.end();
    expect(quiet.map(([each]) => each.drawn())).to.deep.equal(['', '', '']);
  });
});
