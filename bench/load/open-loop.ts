// Latency at a given rate: requests are due by the clock, whether or not the earlier ones have been answered, and each
// is measured from when it was due. A server that stalls is charged for every request it kept from being sent
// (no coordinated omission).
import type { Load } from './closed-loop.ts';
import { type Connection, openConnection } from './connection.ts';

export type Latency = {
  /** Requests per second that were due. */
  readonly rate: number;
  readonly requests: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
};

/** `connections` is the most that are open; a request that finds none free waits, and its clock runs. */
export async function openLoop({
  port,
  connections,
  seconds,
  next,
  rate,
}: Load & { readonly rate: number }): Promise<Latency> {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {}); // awaited below: a connection may be lost before that
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(port, reject)));
  const free = [...open];
  const total = Math.max(1, Math.floor(rate * seconds));
  const latencies = new Float64Array(total);
  let sent = 0;
  let answered = 0;
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
      latencies[answered++] = performance.now() - dueAt(index);
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
  latencies.sort();
  const at = (share: number): number => latencies[Math.min(total - 1, Math.floor(total * share))] ?? 0;
  return { rate, requests: total, p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
