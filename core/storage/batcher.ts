// Joins requests that wait in the same tick into one call, so that they share a statement and a commit.
import { active, type Place } from '../../tracing/active.ts';
import { together } from '../../tracing/together.ts';
import { overloaded } from '../errors.ts';

export type Batcher<Q, A> = (request: Q) => Promise<A>;

export type BatcherOptions<Q, A> = {
  /** Answers every request, in order: with a value, or with an Error to reject that one with. Throwing rejects all. */
  readonly run: (requests: readonly Q[]) => Promise<readonly (A | Error)[]>;
  readonly maxSize: number;
  /** Batches under way at once; while so many are, new requests gather. */
  readonly maxInFlight: number;
  /** Requests that may wait for a batch. Default: 2000. */
  readonly maxWaiting?: number;
  /** Milliseconds one may wait. Default: 2000. */
  readonly maxWaitMs?: number;
};

const MAX_WAITING = 2_000;
const MAX_WAIT_MS = 2_000;

/** Rejects with HubError `overloaded` what waits for too long, and at once what would. */
export function createBatcher<Q, A>(options: BatcherOptions<Q, A>): Batcher<Q, A> {
  const { run, maxSize, maxInFlight, maxWaiting = MAX_WAITING, maxWaitMs = MAX_WAIT_MS } = options;
  type Waiting = {
    request: Q;
    since: number;
    /** Of the trace, if there is one. */
    place: Place | undefined;
    resolve: (answer: A) => void;
    reject: (error: unknown) => void;
  };
  const waiting: Waiting[] = [];
  let inFlight = 0;
  let scheduled = false;
  /** Somebody waited in vain, and no batch has come back since. */
  let stalled = false;
  let watching: NodeJS.Timeout | undefined;

  const schedule = (): void => {
    if (inFlight >= maxInFlight) watch();
    if (scheduled || inFlight >= maxInFlight || waiting.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void flush(waiting.splice(0, maxSize));
      schedule();
    });
  };

  const watch = (): void => {
    const [oldest] = waiting;
    if (watching !== undefined || oldest === undefined) return;
    watching = setTimeout(dropOverdue, Math.max(1, oldest.since + maxWaitMs - performance.now()));
  };
  const dropOverdue = (): void => {
    watching = undefined;
    const latest = performance.now() - maxWaitMs;
    while (waiting[0] !== undefined && waiting[0].since <= latest) {
      stalled = true;
      waiting.shift()?.reject(overloaded());
    }
    schedule();
  };

  const flush = async (batch: Waiting[]): Promise<void> => {
    inFlight++;
    try {
      const answers = await together(batch, () => run(batch.map(({ request }) => request)));
      batch.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        else resolve(answer as A); // `run` answers every request
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      inFlight--;
      stalled = false;
      schedule();
    }
  };

  return (request) =>
    new Promise((resolve, reject) => {
      if (stalled || waiting.length >= maxWaiting) return reject(overloaded());
      waiting.push({ request, since: performance.now(), place: active.getStore(), resolve, reject });
      schedule();
    });
}
