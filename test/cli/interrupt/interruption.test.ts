// Items read until a signal, and the cleanup of their source.
import { expect } from 'chai';
import { untilInterrupted } from '../../../cli/interrupt/interruption.ts';

describe('items until an interruption', () => {
  const uninterrupted = { race: <T>(work: Promise<T>) => work };

  it('close their source when the consumer fails', async () => {
    let isClosed = false;
    async function* source() {
      try {
        for (;;) yield 'item';
      } finally {
        isClosed = true;
      }
    }
    const failed = await (async () => {
      for await (const _ of untilInterrupted(source(), uninterrupted, String)) throw new Error('disk full');
    })().catch((error: Error) => error.message);
    expect({ failed, isClosed }).to.deep.equal({ failed: 'disk full', isClosed: true });
  });

  it('end at a signal, even if the next one never arrives', async () => {
    async function* source(): AsyncGenerator<string> {
      await new Promise(() => {});
    }
    const interrupted = { race: () => Promise.reject(new Error('interrupted')) };
    const ended = await untilInterrupted(source(), interrupted, String)
      .next()
      .catch((error: Error) => error.message);
    expect(ended).to.equal('interrupted');
  });
});
