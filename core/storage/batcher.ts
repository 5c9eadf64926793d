// Joins requests that wait in the same tick into one call, so that they share a statement and a commit.

export type Batcher<Q, A> = (request: Q) => Promise<A>;

export type BatcherOptions<Q, A> = {
  /** Answers every request, in order: with a value, or with an Error to reject that one with. Throwing rejects all. */
  readonly run: (requests: readonly Q[]) => Promise<readonly (A | Error)[]>;
  readonly maxSize: number;
  /** Batches under way at once; while so many are, new requests gather. */
  readonly maxInFlight: number;
};

export function createBatcher<Q, A>({ run, maxSize, maxInFlight }: BatcherOptions<Q, A>): Batcher<Q, A> {
  type Waiting = { request: Q; resolve: (answer: A) => void; reject: (error: unknown) => void };
  const waiting: Waiting[] = [];
  let inFlight = 0;
  let scheduled = false;

  const schedule = (): void => {
    if (scheduled || inFlight >= maxInFlight || waiting.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void flush(waiting.splice(0, maxSize));
      schedule();
    });
  };

  const flush = async (batch: Waiting[]): Promise<void> => {
    inFlight++;
    try {
      const answers = await run(batch.map(({ request }) => request));
      batch.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        else resolve(answer as A); // `run` answers every request
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      inFlight--;
      schedule();
    }
  };

  return (request) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      schedule();
    });
}
