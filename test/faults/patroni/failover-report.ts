// The cost of a failover: the time of Patroni, the time until hubs wrote again, and the hubs' responses
// meanwhile.
import type { LicenseAnswer } from '../load/license-load.ts';
import type { Probe } from '../load/probes.ts';

/** Moments of performance.now(). */
export type Failover = {
  readonly begunAt: number;
  /** The primary answers nothing any more. */
  readonly struckAt: number;
  /** Another node holds the lock in etcd. */
  readonly electedAt: number;
};

export type FailoverReport = {
  /** From the fault until another node holds the lock. */
  readonly patroniMs: number;
  /** From then until the first acknowledged write, at the hub that was later. */
  readonly writesMs: number;
  /** From then until the end of the last write that was refused, at the hub that was later; 0 if none was. */
  readonly refusedMs: number;
  /** Probes of /readyz from the fault until the election, and the 503 among them. */
  readonly probes: number;
  readonly notReady: number;
  /** What breaks the promise of docs/reliability.md. */
  readonly violations: readonly string[];
};

/** Writes are back so long after the election, at every hub. */
export const WRITES_BACK_MS = 2_000;
/** A hub says that it is not ready so long after the database is away: its own limit, and the age of a shared answer. */
const NOTICED_MS = 2_500;

export function reportFailover(
  { begunAt, struckAt, electedAt }: Failover,
  answers: readonly LicenseAnswer[],
  probes: readonly Probe[],
): FailoverReport {
  const writes = answers.filter(({ call }) => call !== 'status');
  const byHub = [...Map.groupBy(writes, ({ gateway }) => gateway)].map(([gateway, own]) => {
    const ends = (status: number) =>
      own
        .filter((each) => each.status === status)
        .map(endOf)
        .filter((end) => end >= electedAt);
    return { gateway, firstWrite: Math.min(...ends(200)), lastRefusal: Math.max(electedAt, ...ends(503)) };
  });
  const during = probes.filter(
    (probe) => probe.path === '/readyz' && probe.begunAt >= begunAt && endOf(probe) < electedAt,
  );
  const writesMs = Math.max(0, ...byHub.map(({ firstWrite }) => firstWrite - electedAt));
  return {
    patroniMs: Math.round(electedAt - begunAt),
    writesMs: Math.round(writesMs),
    refusedMs: Math.round(Math.max(0, ...byHub.map(({ lastRefusal }) => lastRefusal - electedAt))),
    probes: during.length,
    notReady: during.filter(({ status }) => status === 503).length,
    violations: [
      ...(byHub.length === 0 ? ['no hub was asked to write'] : []),
      ...byHub
        .filter(({ firstWrite }) => firstWrite - electedAt > WRITES_BACK_MS)
        .map(({ gateway, firstWrite }) => tooLate(gateway, firstWrite - electedAt)),
      ...during.filter((probe) => isWrong(probe, struckAt)).map(wrongProbe),
    ],
  };
}

function tooLate(gateway: string, afterMs: number): string {
  return Number.isFinite(afterMs)
    ? `${gateway} wrote ${Math.round(afterMs)} ms after the election`
    : `${gateway} did not write`;
}

/** While there is no primary /readyz is 503, with a reason and the time to ask again. */
function isWrong({ begunAt, status, code, retryAfter }: Probe, struckAt: number): boolean {
  if (status === 503) return code === undefined || retryAfter === undefined;
  return begunAt > struckAt + NOTICED_MS;
}

function wrongProbe({ gateway, status, code, retryAfter }: Probe): string {
  return `/readyz of ${gateway} was answered ${status} ${code ?? 'without a code'}, Retry-After: ${retryAfter ?? 'none'}`;
}

function endOf({ begunAt, durationMs }: { readonly begunAt: number; readonly durationMs: number }): number {
  return begunAt + durationMs;
}

/** `2.18 s (1.96 to 2.37)`: the median and the range. */
export function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): string => seconds(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return `${at(0.5)} s (${at(0)} to ${at(1)})`;
}

export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}
