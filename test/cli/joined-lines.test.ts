// How log lines reach standard output.
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { joinLines } from '../../cli/joined-lines.ts';

describe('the lines of a log', () => {
  const writes: string[] = [];
  const stream = { write: (text: string) => writes.push(text) } as unknown as NodeJS.WritableStream; // all it is asked for
  beforeEach(() => writes.splice(0));

  it('of one moment are one write', async () => {
    const log = joinLines(stream);
    for (const line of ['one\n', 'two\n', 'three\n']) log.write(line);
    await setImmediate();
    expect(writes).to.deep.equal(['one\ntwo\nthree\n']);
  });

  it('are written whole, and together only as far as a pipe takes them as one', async () => {
    const log = joinLines(stream);
    const lines = [...'aé漢🎈'].map((character) => `${character.repeat(500)}\n`);
    for (const line of [...lines, ...lines]) log.write(line);
    await setImmediate();
    expect(writes.join('')).to.equal([...lines, ...lines].join(''));
    for (const written of writes) {
      expect(written.endsWith('\n')).to.equal(true);
      expect(Buffer.byteLength(written)).to.be.at.most(4_096);
    }
    expect(writes, 'no more writes than needed').to.have.length(3);
  });
});
