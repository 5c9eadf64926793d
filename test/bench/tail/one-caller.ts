// Sends requests over one connection at a fixed rate, and records when each began and ended.
import { setTimeout } from 'node:timers/promises';
import type { Load } from '../load/closed-loop.ts';
import { openConnections } from '../load/connection.ts';

/** Microseconds of the monotonic clock. */
export type TimedRequest = { readonly begin: number; readonly end: number };

export async function oneCaller({
  port,
  seconds,
  next,
  rate,
}: Omit<Load, 'connections'> & { readonly rate: number }): Promise<TimedRequest[]> {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // handled below: the connection may fail before that
  const [connection] = await openConnections(1, port, failed.reject);
  if (connection === undefined) throw new Error('unreachable: one connection was opened');
  const requests: TimedRequest[] = [];
  const startedAt = performance.now();
  try {
    for (let index = 0; index < rate * seconds; index++) {
      await setTimeout(Math.max(0, startedAt + (index * 1_000) / rate - performance.now()));
      const request = next();
      if (request === undefined) throw new Error('the prepared requests are used up: prepare more');
      const begin = now();
      const status = await Promise.race([
        new Promise<number>((answered) => connection.send(request, answered)),
        failed.promise,
      ]);
      if (status !== 200) throw new Error(`port ${port} answered ${status}`);
      requests.push({ begin, end: now() });
    }
  } finally {
    connection.close();
  }
  return requests;
}

function now(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
