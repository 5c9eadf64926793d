// Throughput: every connection sends its next request as soon as the last one is answered.
import { openConnections } from './connection.ts';

export type Load = {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** The next request, whole; undefined when there are no more. */
  readonly next: () => string | undefined;
};

export type Throughput = {
  readonly requests: number;
  readonly perSecond: number;
  /** Share of its time that the generator itself was busy: near 1 it would be the bottleneck. */
  readonly generatorBusy: number;
};

/** @throws Error if an answer is not 200: what is refused is fast, and would be counted as speed */
export async function closedLoop({ port, connections, seconds, next }: Load): Promise<Throughput> {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {}); // awaited below: a connection may be lost before that
  const open = await openConnections(connections, port, fail);
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  const end = start + seconds * 1_000;
  let requests = 0;
  let last = start;
  const drive = (connection: (typeof open)[number]): Promise<void> =>
    new Promise((resolve) => {
      const send = (): void => {
        const request = performance.now() < end ? next() : undefined;
        if (request === undefined) resolve();
        else connection.send(request, answered);
      };
      const answered = (status: number): void => {
        if (status !== 200) fail(new Error(`port ${port} answered ${status}`));
        requests += 1;
        last = performance.now();
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
  return { requests, perSecond: (requests * 1_000) / (last - start), generatorBusy: busy };
}
