// The batcher: batch contents, concurrency, and one answer per request.
import { setImmediate as nextTick, setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { HubError } from '../../../../core/errors.ts';
import { createBatcher } from '../../../../core/storage/sql/batcher.ts';
import { until } from '../../../support/until.ts';

type Held = { readonly requests: readonly number[]; answer(): void; fail(error: Error): void };

/** Batches that wait until the test answers them, with each number times ten. */
function heldBatcher(limits: {
  maxSize: number;
  maxInFlight: number;
  maxWaiting?: number;
  maxWaitMs?: number;
  startNextAfterMs?: number;
}) {
  const held: Held[] = [];
  const batch = createBatcher<number, number>({
    ...limits,
    run: (requests) =>
      new Promise((resolve, reject) => {
        held.push({ requests, answer: () => resolve(requests.map((each) => each * 10)), fail: reject });
      }),
  });
  return { held, batch, requests: () => held.map(({ requests }) => requests) };
}

/** The code of the refusal; undefined if there was none. */
async function codeOf(asked: Promise<unknown>): Promise<string | undefined> {
  return asked.then(
    () => undefined,
    (error: unknown) => (error instanceof HubError ? error.code : String(error)),
  );
}

/** Long enough for everything that can run without an answer to have run. */
async function settled(): Promise<void> {
  for (let tick = 0; tick < 10; tick++) await nextTick();
}

describe('the batcher', () => {
  it('joins the requests of one tick and gives each its own answer', async () => {
    const { held, batch, requests } = heldBatcher({ maxSize: 10, maxInFlight: 1 });
    const answers = Promise.all([batch(1), batch(2), batch(3)]);
    await settled();
    expect(requests()).to.deep.equal([[1, 2, 3]]);
    held[0]?.answer();
    expect(await answers).to.deep.equal([10, 20, 30]);
  });

  it('rejects only the request whose answer is an error', async () => {
    const refused = new Error('no seat');
    const batch = createBatcher<number, number>({
      maxSize: 10,
      maxInFlight: 1,
      run: async (requests) => requests.map((each) => (each === 2 ? refused : each)),
    });
    expect(await Promise.allSettled([batch(1), batch(2), batch(3)])).to.deep.equal([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: 3 },
    ]);
  });

  it('rejects all requests of a failed batch, and continues with the next', async () => {
    const { held, batch } = heldBatcher({ maxSize: 2, maxInFlight: 1 });
    const results = Promise.allSettled([batch(1), batch(2), batch(3)]);
    await settled();
    const lost = new Error('connection lost');
    held[0]?.fail(lost);
    await settled();
    held[1]?.answer();
    expect(await results).to.deep.equal([
      { status: 'rejected', reason: lost },
      { status: 'rejected', reason: lost },
      { status: 'fulfilled', value: 30 },
    ]);
  });

  it('rejects when the batch function throws synchronously', async () => {
    const broken = new Error('no pool');
    const batch = createBatcher<number, number>({
      maxSize: 2,
      maxInFlight: 1,
      run: () => {
        throw broken;
      },
    });
    for (const request of [1, 2]) expect(await batch(request).catch((error) => error)).to.equal(broken);
  });

  it('puts at most maxSize requests into a batch, in order', async () => {
    const { held, batch, requests } = heldBatcher({ maxSize: 2, maxInFlight: 9 });
    for (const request of [1, 2, 3, 4, 5]) void batch(request);
    await settled();
    for (const { answer } of held) answer();
    await settled();
    expect(requests()).to.deep.equal([[1, 2], [3, 4], [5]]);
  });

  it('collects requests while a larger batch runs, until they fill one', async () => {
    const { held, batch, requests } = heldBatcher({ maxSize: 6, maxInFlight: 2, startNextAfterMs: 60_000 });
    const ask = (numbers: readonly number[]) => numbers.forEach((each) => void batch(each));
    ask([1, 2, 3, 4, 5]);
    await settled();
    ask([6, 7, 8, 9, 10]);
    await settled();
    expect(requests()).to.deep.equal([[1, 2, 3, 4, 5]]);
    ask([11, 12]);
    await settled();
    expect(requests()).to.deep.equal([
      [1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10, 11],
    ]);
    for (const { answer } of held) answer();
    await settled();
    expect(requests().at(-1)).to.deep.equal([12]);
  });

  it('does not delay requests while a small batch runs', async () => {
    const { batch, requests } = heldBatcher({ maxSize: 6, maxInFlight: 2 });
    for (const request of [1, 2]) {
      void batch(request);
      await settled();
    }
    expect(requests()).to.deep.equal([[1], [2]]);
  });

  it('does not delay requests behind a slow batch, up to maxInFlight', async () => {
    const { held, batch, requests } = heldBatcher({ maxSize: 6, maxInFlight: 3, startNextAfterMs: 200 });
    const ask = (numbers: readonly number[]) => numbers.forEach((each) => void batch(each));
    const batches = [
      [1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10],
      [11, 12, 13, 14, 15],
    ];
    for (const [index, numbers] of batches.entries()) {
      ask(numbers);
      await until(() => held.length > index, `batch ${index} has begun beside those before it`);
    }
    ask([16]);
    await setTimeout(300);
    expect(requests()).to.deep.equal(batches);
    held[1]?.answer();
    await until(() => held.length === 4, 'there was room for it');
    expect(requests()).to.deep.equal([...batches, [16]]);
  });

  it('sheds requests at once when too many wait', async () => {
    const { held, batch } = heldBatcher({ maxSize: 1, maxInFlight: 1, maxWaiting: 2 });
    const first = batch(1);
    await settled();
    const results = Promise.allSettled([first, batch(2), batch(3)]);
    expect(await codeOf(batch(4))).to.equal('overloaded');
    held[0]?.answer();
    await settled();
    held[1]?.answer();
    await settled();
    held[2]?.answer();
    expect((await results).map(({ status }) => status)).to.deep.equal(Array(3).fill('fulfilled'));
  });

  it('sheds requests that wait too long, and new ones until a batch returns', async () => {
    const { held, batch, requests } = heldBatcher({ maxSize: 1, maxInFlight: 1, maxWaitMs: 20 });
    const first = batch(1);
    await settled();
    expect(await codeOf(batch(2))).to.equal('overloaded');
    const before = performance.now();
    expect(await codeOf(batch(3))).to.equal('overloaded');
    expect(performance.now() - before).to.be.below(20);
    held[0]?.answer();
    expect(await first).to.equal(10);
    const next = batch(4);
    await settled();
    held[1]?.answer();
    expect(await next).to.equal(40);
    expect(requests()).to.deep.equal([[1], [4]]);
  });

  it('runs requests that become overdue just after the last batch has failed, and later ones', async () => {
    const { held, batch } = heldBatcher({ maxSize: 1, maxInFlight: 1, maxWaitMs: 20 });
    const lost = new Error('connection lost');
    const failed = batch(1).catch((error: unknown) => error);
    await settled();
    const overdue = batch(2);
    // A late event loop runs both timers in one turn: that of the failure, and that of the overdue request.
    const fail = setTimeout(10).then(() => held[0]?.fail(lost));
    for (const begun = performance.now(); performance.now() - begun < 40; );
    await fail;
    expect(await failed).to.equal(lost);
    await until(() => held.length === 2, 'the overdue request runs');
    const later = batch(3);
    held[1]?.answer();
    expect(await overdue).to.equal(20);
    await until(() => held.length === 3, 'the later request runs');
    held[2]?.answer();
    expect(await later).to.equal(30);
  });

  it('answers every request once and in order, with failing batches too', async () => {
    const arrivals = fc.array(fc.record({ requests: fc.integer({ min: 0, max: 6 }), fails: fc.boolean() }), {
      maxLength: 12,
    });
    const limits = fc.record({
      maxSize: fc.integer({ min: 1, max: 5 }),
      maxInFlight: fc.integer({ min: 1, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(arrivals, limits, async (waves, { maxSize, maxInFlight }) => {
        const failing = waves.map(({ fails }) => fails);
        const seen: number[] = [];
        let inFlight = 0;
        const batch = createBatcher<number, number>({
          maxSize,
          maxInFlight,
          run: async (requests) => {
            expect(requests.length).to.be.within(1, maxSize);
            expect(++inFlight).to.be.at.most(maxInFlight);
            seen.push(...requests);
            await nextTick();
            inFlight--;
            if (failing.pop()) throw new Error('this batch failed');
            return requests.map((each) => (each % 7 === 6 ? new Error(`refused ${each}`) : each));
          },
        });
        const asked: Promise<number | string>[] = [];
        for (const wave of waves) {
          for (let each = 0; each < wave.requests; each++) {
            asked.push(batch(asked.length).catch((error: Error) => error.message));
          }
          await nextTick();
        }
        for (const [index, said] of (await Promise.all(asked)).entries()) {
          expect(said).to.be.oneOf(['this batch failed', index % 7 === 6 ? `refused ${index}` : index]);
        }
        expect(seen).to.deep.equal(asked.map((_, index) => index));
      }),
      { numRuns: 200 },
    );
  });
});
