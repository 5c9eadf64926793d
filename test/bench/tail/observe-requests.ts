// Records when each request of a load began and ended, and for how long the server's main thread worked and waited for
// a processor.
import { closedLoop, type Load } from '../load/closed-loop.ts';
import { openLoop } from '../load/open-loop.ts';
import { mainThreadTimeOf, type ThreadTime } from '../sides/process-cost.ts';

/** `begin`, when the request was sent, and `end` are microseconds of the monotonic clock. */
export type TimedRequest = {
  readonly begin: number;
  readonly end: number;
  /** Time of the server's main thread between `begin` and `end`. Undefined if the system does not record it. */
  readonly thread: ThreadTime | undefined;
};

export type ObservedLoad = Omit<Load, 'observe'> & {
  /** Of the server. */
  readonly pid: number;
  /** Requests a second. Without it, each connection sends its next request when it has the response. */
  readonly rate: number | undefined;
};

export async function observeRequests({ pid, rate, ...load }: ObservedLoad): Promise<TimedRequest[]> {
  const requests: TimedRequest[] = [];
  const observe = (): (() => void) => {
    const before = mainThreadTimeOf(pid);
    const begin = micros();
    return () => {
      const end = micros();
      const after = mainThreadTimeOf(pid);
      requests.push({ begin, end, thread: after && before && differenceOf(after, before) });
    };
  };
  if (rate === undefined) await closedLoop({ ...load, observe });
  else await openLoop({ ...load, rate, observe });
  return requests;
}

function differenceOf(after: ThreadTime, before: ThreadTime): ThreadTime {
  return {
    runningMicros: after.runningMicros - before.runningMicros,
    queuedMicros: after.queuedMicros - before.queuedMicros,
  };
}

function micros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
