// Repeated calls while a hub is away.
import { expect } from 'chai';
import { retryWhileDown } from '../../../cli/connect/retry-while-down.ts';
import { CliError, EXIT } from '../../../cli/errors/failure.ts';

const away = () => new CliError('hub_unreachable', EXIT.unreachable, 'No hub answers at x. Start one.');
const target = () => Promise.reject(new Error('no hub'));

describe('a call that is repeated while the hub is away', () => {
  /** Runs the outcomes in turn; returns the pauses between them and the notes. */
  const run = async (outcomes: readonly (Error | 'answers')[]) => {
    const pauses: number[] = [];
    const notes: (string | undefined)[] = [];
    const pause = async (ms: number) => {
      pauses.push(ms);
    };
    const hub = retryWhileDown({ target }, (message) => notes.push(message), pause);
    let next = 0;
    const end = await hub(async (answered) => {
      const outcome = outcomes[next++];
      if (outcome === undefined) return 'done';
      if (outcome !== 'answers') throw outcome;
      answered();
      throw away();
    }).catch((error: Error) => error.message);
    return { pauses, notes, end };
  };

  it('waits longer each time, and shortly again after an answer', async () => {
    const outage = Array.from({ length: 5 }, away);
    const { pauses, notes, end } = await run(['answers', ...outage, 'answers', away()]);
    expect(pauses).to.deep.equal([1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 1_000, 2_000]);
    const missed = 'No hub answers at x: trying again.';
    expect(notes).to.deep.equal([missed, undefined, missed, undefined]);
    expect(end).to.equal('done');
  });

  it('is not repeated before the first answer, nor after a refusal', async () => {
    expect(await run([away()])).to.deep.equal({ pauses: [], notes: [], end: away().message });
    const refused = new CliError('cursor_pruned', EXIT.failed, 'pruned');
    expect(await run(['answers', refused])).to.deep.include({ pauses: [1_000], end: 'pruned' });
  });
});
