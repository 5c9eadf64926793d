// Measures latency at a fixed rate. Requests have scheduled times that do not depend on earlier responses,
// and each latency counts from the scheduled time. A stalled server therefore pays for every request that it
// delays (no coordinated omission).
import type { Load } from './closed-loop.ts';
import { type Connection, openConnections } from './connection.ts';

export type Paced = {
  /** Scheduled requests per second. */
  readonly rate: number;
  /** Milliseconds of each request, in ascending order. */
  readonly latencies: Float64Array;
  /** The generator's busy share of the time. Near 1 the latencies include the generator's own delay. */
  readonly generatorBusy: number;
};

export type PacedLoadOptions = Load & { readonly rate: number };

/** The part of the requests that is not counted: after ANALYZE, a server plans its statements again. */
const LEAD = 1 / 5;

/**
 * `connections` is the maximum. A request without a free connection waits, and the wait counts as latency.
 */
export async function openLoop({ port, connections, seconds, next, rate }: PacedLoadOptions): Promise<Paced> {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {}); // handled below: a connection may fail before that
  const open = await openConnections(connections, port, reject);
  const free = [...open];
  const total = Math.max(1, Math.floor(rate * seconds));
  const latencies = new Float64Array(total);
  let sent = 0;
  let answered = 0;
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  const dueAt = (index: number): number => start + (index * 1_000) / rate;
  const send = (connection: Connection): void => {
    const index = sent++;
    const request = next();
    if (request === undefined) {
      reject(new Error('the prepared requests are used up: prepare more'));
      return;
    }
    connection.send(request, (status) => {
      if (status !== 200) reject(new Error(`port ${port} answered ${status} at ${rate} a second`));
      latencies[index] = performance.now() - dueAt(index);
      answered += 1;
      free.push(connection);
      if (answered === total) resolve();
      else sendDue();
    });
  };
  const sendDue = (): void => {
    const now = performance.now();
    while (sent < total && dueAt(sent) <= now) {
      const connection = free.pop();
      if (connection === undefined) return;
      send(connection);
    }
  };
  const tick = (): void => {
    sendDue();
    if (sent < total) setTimeout(tick, 1);
  };
  tick();
  try {
    await done;
  } finally {
    sent = total;
    for (const connection of open) connection.close();
  }
  const generatorBusy = performance.eventLoopUtilization(before).utilization;
  return { rate, latencies: latencies.subarray(Math.floor(total * LEAD)).sort(), generatorBusy };
}
