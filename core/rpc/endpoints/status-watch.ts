// Notifies all watchers of a status when it changes, with one check per second for all of them.

import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../../gen/grpc/health/v1/health_pb.ts';

const POLL_MS = 1_000;

type Watcher = {
  readonly last: ServingStatus;
  readonly endsAt: number;
  readonly notify: (status: ServingStatus) => void;
};

/**
 * The function resolves with the next status other than `last`; with `last` itself when the watch ends.
 *
 * @param check Returns the current status. Never throws.
 */
export function createStatusWatch(check: () => Promise<ServingStatus>) {
  const watchers = new Set<Watcher>();
  let isPolling = false;
  const poll = (): void => {
    isPolling = true;
    setTimeout(async () => {
      const status = await check();
      const now = performance.now();
      for (const { last, endsAt, notify } of watchers) {
        if (last === ServingStatus.SERVICE_UNKNOWN || last === status) {
          if (now >= endsAt) notify(last);
        } else notify(status);
      }
      if (watchers.size > 0) poll();
      else isPolling = false;
    }, POLL_MS).unref();
  };
  return (last: ServingStatus, { signal, endsAt }: { signal: AbortSignal; endsAt: number }) =>
    new Promise<ServingStatus>((resolve) => {
      const notify = (status: ServingStatus): void => {
        watchers.delete(watcher);
        signal.removeEventListener('abort', end);
        resolve(status);
      };
      const end = (): void => notify(last);
      const watcher = { last, endsAt, notify };
      watchers.add(watcher);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      else if (!isPolling) poll();
    });
}
