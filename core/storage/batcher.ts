// Joins requests that wait at the same time into one call, so that they share a statement and a commit.
import { active, type Place } from '../../tracing/active.ts';
import { together } from '../../tracing/together.ts';
import { overloaded } from '../errors.ts';

export type Batcher<Q, A> = (request: Q) => Promise<A>;

export type BatcherOptions<Q, A> = {
  /** Answers every request, in order: with a value, or with an Error to reject that one with. Throwing rejects all. */
  readonly run: (requests: readonly Q[]) => Promise<readonly (A | Error)[]>;
  readonly maxSize: number;
  /**
   * Batches under way at once. Requests gather beside one of more than a few; another begins once it is full, or once those under
   * way are late: whatever they wait for, the others do not have to.
   */
  readonly maxInFlight: number;
  /** Requests that may wait for a batch. Default: 2000. */
  readonly maxWaiting?: number;
  /** Milliseconds one may wait. Default: 2000. */
  readonly maxWaitMs?: number;
  /** Milliseconds after which a batch is late. Default: 10. */
  readonly patienceMs?: number;
};

const MAX_WAITING = 2_000;
const MAX_WAIT_MS = 2_000;
/** Most batches take less, and two half ones cost nearly twice what a whole one does. */
const PATIENCE_MS = 10;
/** To wait for a batch of so few saves nothing: two clients would only take turns. */
const FEW = 4;

/** Rejects with HubError `overloaded` what waits for too long, and at once what would. */
export function createBatcher<Q, A>(options: BatcherOptions<Q, A>): Batcher<Q, A> {
  const { run, maxSize, maxInFlight } = options;
  const { maxWaiting = MAX_WAITING, maxWaitMs = MAX_WAIT_MS, patienceMs = PATIENCE_MS } = options;
  type Waiting = {
    request: Q;
    since: number;
    /** Of the trace, if there is one. */
    place: Place | undefined;
    resolve: (answer: A) => void;
    reject: (error: unknown) => void;
  };
  const waiting: Waiting[] = [];
  /** Of each batch under way, when it is late; -Infinity if nobody is to wait for it. */
  const underWay: number[] = [];
  let scheduled = false;
  /** Somebody waited in vain, and no batch has come back since. */
  let stalled = false;
  let watching: NodeJS.Timeout | undefined;
  let patience: NodeJS.Timeout | undefined;

  const schedule = (): void => {
    if (underWay.length >= maxInFlight) watch();
    if (scheduled || underWay.length >= maxInFlight || waiting.length === 0) return;
    const lateInMs = Math.max(...underWay) - performance.now(); // -Infinity if there is none
    if (lateInMs > 0 && waiting.length < maxSize) {
      waitFor(lateInMs);
      return;
    }
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void flush(waiting.splice(0, maxSize));
      schedule();
    });
  };

  const waitFor = (ms: number): void => {
    if (patience !== undefined) return;
    patience = setTimeout(() => {
      patience = undefined;
      schedule();
    }, ms).unref(); // the batch that it is about keeps the process
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
    const lateAt = batch.length <= FEW ? -Infinity : performance.now() + patienceMs;
    underWay.push(lateAt);
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
      underWay.splice(underWay.indexOf(lateAt), 1);
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
