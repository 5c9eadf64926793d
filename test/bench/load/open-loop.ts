// Measures latency at a fixed rate. Requests have scheduled times that do not depend on earlier responses,
// and the latency of a request that has to wait for a connection counts from its scheduled time. So a stall increases
// the latency of every request that it delays (no coordinated omission). If a connection is free, the latency counts
// from when the request is sent: timers are up to a millisecond late, which is the generator's delay.
import type { Load } from './closed-loop.ts';
import { type Connection, openConnections } from './connection.ts';
import { countedLatencies } from './latency.ts';

export type Paced = {
  /** Scheduled requests per second. */
  readonly rate: number;
  /** Milliseconds of each request after the excluded ones, in ascending order. */
  readonly latencies: Float64Array;
  /** The generator's busy share of the time. Near 1 the latencies include the generator's own delay. */
  readonly generatorBusy: number;
};

type FreeConnection = { readonly connection: Connection; readonly since: number };

export type PacedLoadOptions = Load & { readonly rate: number };

/**
 * `connections` is the maximum. A request without a free connection waits, and the wait counts as latency.
 */
export async function openLoop(options: PacedLoadOptions): Promise<Paced> {
  const { port, connections, seconds, next, rate, observe } = options;
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {}); // handled below: a connection may fail before that
  const open = await openConnections(connections, port, reject);
  // Ordered by how long each has been free, the longest first.
  const free = open.map((connection) => ({ connection, since: 0 }));
  const total = Math.max(1, Math.floor(rate * seconds));
  const latencies = new Float64Array(total);
  let sent = 0;
  let answered = 0;
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  const dueAt = (index: number): number => start + (index * 1_000) / rate;
  const send = ({ connection, since }: FreeConnection, now: number): void => {
    const index = sent++;
    const countsFrom = since <= dueAt(index) ? now : dueAt(index);
    const request = next();
    if (request === undefined) {
      reject(new Error('the prepared requests are used up: prepare more'));
      return;
    }
    const observed = observe?.();
    connection.send(request, (status) => {
      if (status !== 200) reject(new Error(`port ${port} answered ${status} at ${rate} a second`));
      observed?.();
      const answeredAt = performance.now();
      latencies[index] = answeredAt - countsFrom;
      answered += 1;
      free.push({ connection, since: answeredAt });
      if (answered === total) resolve();
      else sendDue();
    });
  };
  const sendDue = (): void => {
    for (let now = performance.now(); sent < total && dueAt(sent) <= now; now = performance.now()) {
      const connection = free.shift();
      if (connection === undefined) return;
      send(connection, now);
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
  return { rate, latencies: countedLatencies(latencies), generatorBusy };
}
