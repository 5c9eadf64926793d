// Sends requests, and records when each began and ended, and for how long the server's main thread worked and waited
// for a processor.
import { setTimeout } from 'node:timers/promises';
import type { Load } from '../load/closed-loop.ts';
import { openConnections } from '../load/connection.ts';
import { mainThreadTimeOf, type ThreadTime } from '../sides/process-cost.ts';

/** `begin` and `end` are microseconds of the monotonic clock. */
export type TimedRequest = {
  readonly begin: number;
  readonly end: number;
  /** Time of the server's main thread between `begin` and `end`. Undefined if the system does not record it. */
  readonly thread: ThreadTime | undefined;
};

export type SendOptions = Load & {
  /** Of the server. */
  readonly pid: number;
  /**
   * Requests a second of all callers. Without it, each request follows the response to the last one, and the load
   * ends early if `next` has no more requests.
   */
  readonly rate?: number | undefined;
};

/** Each caller has a connection. With a rate, the callers start one after another, and each sends at its share. */
export async function sendRequests({ connections, rate, ...load }: SendOptions): Promise<TimedRequest[]> {
  const ownRate = rate && rate / connections;
  const all = Array.from({ length: connections }, async (_, index) => {
    if (rate !== undefined) await setTimeout((index * 1_000) / rate);
    return oneCaller({ ...load, rate: ownRate });
  });
  return (await Promise.all(all)).flat();
}

async function oneCaller({
  port,
  pid,
  seconds,
  next,
  rate,
}: Omit<SendOptions, 'connections'>): Promise<TimedRequest[]> {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // handled below: the connection may fail before that
  const [connection] = await openConnections(1, port, failed.reject);
  if (connection === undefined) throw new Error('unreachable: one connection was opened');
  const requests: TimedRequest[] = [];
  const startedAt = performance.now();
  try {
    for (let index = 0; ; index++) {
      const dueMs = rate === undefined ? performance.now() - startedAt : (index * 1_000) / rate;
      if (dueMs >= seconds * 1_000) break;
      if (rate !== undefined) await setTimeout(Math.max(0, startedAt + dueMs - performance.now()));
      const request = next();
      if (request === undefined) {
        if (rate === undefined) break;
        throw new Error('the prepared requests are used up: prepare more');
      }
      const before = mainThreadTimeOf(pid);
      const begin = clockMicros();
      const status = await Promise.race([
        new Promise<number>((answered) => connection.send(request, answered)),
        failed.promise,
      ]);
      if (status !== 200) throw new Error(`port ${port} answered ${status}`);
      const end = clockMicros();
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

function clockMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
