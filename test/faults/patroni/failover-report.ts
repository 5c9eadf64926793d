// The cost of a failover: Patroni's time, the time until hubs write again, and the hubs' responses meanwhile.
import type { LicenseAnswer } from '../load/license-load.ts';
import type { Probe } from '../load/probes.ts';

/** Times are values of performance.now(). */
export type Failover = {
  readonly begunAt: number;
  /** The primary no longer responds. */
  readonly struckAt: number;
  /** Another node holds the lock in etcd. */
  readonly electedAt: number;
};

export type FailoverReport = {
  /** From the fault until another node holds the lock. */
  readonly patroniMs: number;
  /** From the election until the first acknowledged write, at the slower hub. */
  readonly writesMs: number;
  /** From the election until the end of the last refused write, at the slower hub. 0 if none was refused. */
  readonly refusedMs: number;
  /** Probes of /readyz from the fault until the election, and the number of 503 responses. */
  readonly probes: number;
  readonly notReady: number;
  /** Violations of the guarantees in docs/reliability.md. */
  readonly violations: readonly string[];
};

/** The time limit after the election until writes succeed at every hub. */
export const WRITES_BACK_MS = 2_000;
/**
 * The time limit until a hub reports that it is not ready: its own limit plus the age of a shared response.
 */
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

/** While there is no primary, /readyz must return 503 with a reason and a Retry-After header. */
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
