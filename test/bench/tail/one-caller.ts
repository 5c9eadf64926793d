// Sends requests over one connection at a fixed rate, and records when each began and ended, and for how long the
// server's main thread worked and waited for a processor.
import { setTimeout } from 'node:timers/promises';
import type { Load } from '../load/closed-loop.ts';
import { openConnections } from '../load/connection.ts';
import { mainThreadTimeOf, type ThreadTime } from '../sides/process-cost.ts';

export type TimedRequest = {
  /** Microseconds of the monotonic clock. */
  readonly begin: number;
  readonly end: number;
  /** The time of the server's main thread during the request. Undefined if the system does not record it. */
  readonly thread: ThreadTime | undefined;
};

export async function oneCaller({
  port,
  pid,
  seconds,
  next,
  rate,
}: Omit<Load, 'connections'> & { readonly rate: number; readonly pid: number }): Promise<TimedRequest[]> {
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
      const before = mainThreadTimeOf(pid);
      const begin = now();
      const status = await Promise.race([
        new Promise<number>((answered) => connection.send(request, answered)),
        failed.promise,
      ]);
      if (status !== 200) throw new Error(`port ${port} answered ${status}`);
      const end = now();
      const after = mainThreadTimeOf(pid);
      requests.push({ begin, end, thread: after && before && differenceOf(after, before) });
    }
  } finally {
    connection.close();
  }
  return requests;
}

function differenceOf(after: ThreadTime, before: ThreadTime): ThreadTime {
  return {
    runningMicros: after.runningMicros - before.runningMicros,
    queuedMicros: after.queuedMicros - before.queuedMicros,
  };
}

function now(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
