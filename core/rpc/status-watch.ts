// Tells all who watch a status when it changes, by one look a second for all of them.

import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import { LinkedList } from '../../ports/linked-list.ts';

const LOOK_EVERY_MS = 1_000;

export type StatusWatch = {
  /** The next status that is another than `last`; `last` itself once the watch is over. */
  next(last: ServingStatus, until: { signal: AbortSignal; endsAt: number }): Promise<ServingStatus>;
};

type Watcher = {
  readonly last: ServingStatus;
  readonly endsAt: number;
  readonly tell: (status: ServingStatus) => void;
};

/** @param look what the status is now. Never throws. */
export function createStatusWatch(look: () => Promise<ServingStatus>): StatusWatch {
  const watchers = new LinkedList<Watcher>();
  let isLooking = false;
  const lookAgain = (): void => {
    isLooking = true;
    setTimeout(async () => {
      const status = await look();
      const now = performance.now();
      for (const { last, endsAt, tell } of watchers) {
        if (last === ServingStatus.SERVICE_UNKNOWN || last === status) {
          if (now >= endsAt) tell(last);
        } else tell(status);
      }
      if (watchers.size > 0) lookAgain();
      else isLooking = false;
    }, LOOK_EVERY_MS).unref();
  };
  return {
    next: (last, { signal, endsAt }) =>
      new Promise((resolve) => {
        const tell = (status: ServingStatus): void => {
          watchers.remove(link);
          signal.removeEventListener('abort', end);
          resolve(status);
        };
        const end = (): void => tell(last);
        const link = watchers.add({ last, endsAt, tell });
        signal.addEventListener('abort', end, { once: true });
        if (signal.aborted) end();
        else if (!isLooking) lookAgain();
      }),
  };
}
