// A token of the lowest role sends a stream of JSON that does not end.
import { expect } from 'chai';
import { type AttackedHub, startAttackedHub } from './attacked-hub.ts';
import { envelope, openStream, REFLECTION } from './open-stream.ts';

const MEGABYTE = 1_000_000;
const LARGE = Buffer.from(JSON.stringify({ listServices: 'x'.repeat(MEGABYTE) }));
const MESSAGES = 200;

describe('a stream of large JSON messages', () => {
  let attacked: AttackedHub;
  let headers: Record<string, string>;
  beforeEach(async () => {
    attacked = await startAttackedHub();
    headers = { 'content-type': 'application/connect+json', authorization: `Bearer ${attacked.token}` };
  });
  afterEach(() => attacked.stop());

  it('is refused before it takes much memory or delays others', async () => {
    const { isOver, write, end } = openStream(await attacked.connect(), REFLECTION, headers);
    let answer = '';
    const damage = await attacked.during(async () => {
      for (let sent = 0; sent < MESSAGES && !isOver(); sent += 1) await write(envelope(LARGE));
      answer = await end();
    });
    expect(answer).to.contain('resource_exhausted').and.to.contain('a stream may send');
    expect(damage.grownMb, 'megabytes').to.be.below(MESSAGES / 2);
    expect(damage.longestWaitMs, 'milliseconds').to.be.below(1_000);
  });

  it('has no room for many unfinished messages', async () => {
    const session = await attacked.connect();
    const unfinished = envelope(LARGE).subarray(0, -1);
    const streams = Array.from({ length: 200 }, () => openStream(session, REFLECTION, headers));
    const damage = await attacked.during(() =>
      Promise.all(
        streams.map(async ({ write, end }, index) => {
          await write(unfinished);
          // These keep their buffers; the others wait for the refusal.
          if (index >= 16) await end();
        }),
      ),
    );
    const refused = streams.filter((each) => each.answer().includes('take too much memory'));
    expect(refused.length).to.be.at.least(150);
    expect(damage.grownMb, 'megabytes').to.be.below(150);
  });
});
