// Combines concurrent requests into batches, so that they share a statement and a commit.
import { type Context, context } from '@opentelemetry/api';
import { inBatchSpan } from '../../../lib/tracing/spans.ts';
import { overloaded } from '../../errors.ts';

export type Batcher<Q, A> = (request: Q) => Promise<A>;

export type BatcherOptions<Q, A> = {
  /** Returns for every request, in order, its result or an Error to reject it with. Throwing rejects all. */
  readonly run: (requests: readonly Q[]) => Promise<readonly (A | Error)[]>;
  /** Default: 128. */
  readonly maxSize?: number;
  /**
   * Batches that run at the same time. Default: 2. While a large batch runs, requests wait until they fill a
   * batch, until that batch ends, or for `startNextAfterMs` from its start.
   */
  readonly maxInFlight?: number;
  /** Requests that may wait for a batch. Default: 2000. */
  readonly maxWaiting?: number;
  /** Milliseconds a request may wait. Default: 2000. */
  readonly maxWaitMs?: number;
  /**
   * Milliseconds after the start of a large batch until the next batch starts, even if it is not full.
   * Default: 10.
   */
  readonly startNextAfterMs?: number;
};

const MAX_WAITING = 2_000;
const MAX_WAIT_MS = 2_000;
/** Most batches take less than this. Two half-full batches cost nearly twice as much as a full one. */
const START_NEXT_AFTER_MS = 10;
/**
 * Requests do not wait for a batch of this size or smaller: with two clients, each would always wait for the
 * other.
 */
const SMALL_BATCH = 4;

/**
 * Rejects with HubError `overloaded` if the queue is full, has stalled, or a request has waited for too long.
 */
export function createBatcher<Q, A>(options: BatcherOptions<Q, A>): Batcher<Q, A> {
  const queue = new BatchQueue(options);
  return (request) => queue.add(request);
}

type Waiting<Q, A> = {
  readonly request: Q;
  readonly since: number;
  readonly context: Context;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
};

/** When the next batch starts. */
type NextBatch =
  /** Not planned: no request waits, or `maxInFlight` batches run. */
  | { readonly state: 'unplanned' }
  /** Once it is full, when a batch ends, or when the timer fires. */
  | { readonly state: 'gathering'; readonly timer: NodeJS.Timeout }
  /** After the events of this tick, which may add to it. */
  | { readonly state: 'due' };

class BatchQueue<Q, A> {
  readonly #options: Required<BatcherOptions<Q, A>>;
  readonly #waiting: Waiting<Q, A>[] = [];
  /** For each running batch, until when the next one waits to be full; -Infinity if it is small. */
  readonly #running: number[] = [];
  #next: NextBatch = { state: 'unplanned' };
  #overdueTimer: NodeJS.Timeout | undefined;
  /** Set when a request has waited too long while `maxInFlight` batches run. Cleared when one returns. */
  #hasStalled = false;

  constructor(options: BatcherOptions<Q, A>) {
    this.#options = {
      maxSize: 128,
      maxInFlight: 2,
      maxWaiting: MAX_WAITING,
      maxWaitMs: MAX_WAIT_MS,
      startNextAfterMs: START_NEXT_AFTER_MS,
      ...options,
    };
  }

  add(request: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      if (this.#hasStalled || this.#waiting.length >= this.#options.maxWaiting) return reject(overloaded());
      this.#waiting.push({ request, since: performance.now(), context: context.active(), resolve, reject });
      this.#plan();
    });
  }

  #plan(): void {
    const { maxInFlight, maxSize } = this.#options;
    if (this.#running.length >= maxInFlight) {
      this.#watchOverdue();
      return;
    }
    if (this.#next.state === 'due' || this.#waiting.length === 0) return;
    const startInMs = Math.max(...this.#running) - performance.now(); // -Infinity if none runs
    if (startInMs > 0 && this.#waiting.length < maxSize) {
      this.#gather(startInMs);
      return;
    }
    if (this.#next.state === 'gathering') clearTimeout(this.#next.timer);
    this.#next = { state: 'due' };
    setImmediate(() => {
      this.#next = { state: 'unplanned' };
      void this.#run(this.#waiting.splice(0, maxSize));
      this.#plan();
    });
  }

  #gather(ms: number): void {
    if (this.#next.state === 'gathering') return;
    // The running batch keeps the process alive.
    const timer = setTimeout(() => {
      this.#next = { state: 'unplanned' };
      this.#plan();
    }, ms).unref();
    this.#next = { state: 'gathering', timer };
  }

  async #run(batch: readonly Waiting<Q, A>[]): Promise<void> {
    if (batch.length === 0) return;
    const startNextAt =
      batch.length <= SMALL_BATCH ? -Infinity : performance.now() + this.#options.startNextAfterMs;
    this.#running.push(startNextAt);
    try {
      const answers = await inBatchSpan(
        batch.map((each) => each.context),
        () => this.#options.run(batch.map(({ request }) => request)),
      );
      batch.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        else resolve(answer as A); // `run` answers every request
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#running.splice(this.#running.indexOf(startNextAt), 1);
      this.#hasStalled = false;
      this.#plan();
    }
  }

  #watchOverdue(): void {
    const [oldest] = this.#waiting;
    if (this.#overdueTimer !== undefined || oldest === undefined) return;
    const ms = Math.max(1, oldest.since + this.#options.maxWaitMs - performance.now());
    this.#overdueTimer = setTimeout(() => {
      this.#overdueTimer = undefined;
      // If a batch has just returned, the next one is planned, and nothing would clear `#hasStalled`.
      if (this.#running.length >= this.#options.maxInFlight) this.#rejectOverdue();
      this.#plan();
    }, ms);
  }

  #rejectOverdue(): void {
    const latest = performance.now() - this.#options.maxWaitMs;
    while (this.#waiting[0] !== undefined && this.#waiting[0].since <= latest) {
      this.#hasStalled = true;
      this.#waiting.shift()?.reject(overloaded());
    }
  }
}
