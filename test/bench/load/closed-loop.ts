// Measures throughput and latency without pauses: each connection sends its next request as soon as it has the
// previous response.
import { openConnections } from './connection.ts';
import { countedLatencies } from './latency.ts';

export type Load = {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** The next complete request. Undefined when there are no more. */
  readonly next: () => string | undefined;
  /** Called before a request is sent. The returned function is called when the response is complete. */
  readonly observe?: () => () => void;
};

export type Throughput = {
  readonly requests: number;
  readonly perSecond: number;
  /** The generator's busy share of the time. Near 1 the generator itself may be the bottleneck. */
  readonly generatorBusy: number;
  /** Milliseconds of each request after the excluded ones, in ascending order. Undefined for bare SQL. */
  readonly latencies?: Float64Array;
};

/** @throws Error if a response is not 200: refusals are fast and would raise the measured throughput */
export async function closedLoop({ port, connections, seconds, next, observe }: Load): Promise<Throughput> {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {}); // handled below: a connection may fail before that
  const open = await openConnections(connections, port, fail);
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  const end = start + seconds * 1_000;
  const latencies: number[] = [];
  let last = start;
  const drive = (connection: (typeof open)[number]): Promise<void> =>
    new Promise((resolve) => {
      let sentAt = 0;
      let observed: (() => void) | undefined;
      const send = (): void => {
        sentAt = performance.now();
        const request = sentAt < end ? next() : undefined;
        if (request === undefined) {
          resolve();
          return;
        }
        observed = observe?.();
        connection.send(request, answered);
      };
      const answered = (status: number): void => {
        if (status !== 200) fail(new Error(`port ${port} answered ${status}`));
        observed?.();
        last = performance.now();
        latencies.push(last - sentAt);
        send();
      };
      send();
    });
  try {
    await Promise.race([Promise.all(open.map(drive)), failed]);
  } finally {
    for (const connection of open) connection.close();
  }
  const busy = performance.eventLoopUtilization(before).utilization;
  return {
    requests: latencies.length,
    perSecond: (latencies.length * 1_000) / (last - start),
    generatorBusy: busy,
    latencies: countedLatencies(Float64Array.from(latencies)),
  };
}
