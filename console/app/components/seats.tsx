// The number of seats of a license, how many are in use, and its limits.
import type { SeatUsage } from '../../../gen/hub/error/v1/error_pb.ts';

export function Seats({ seats }: { readonly seats: SeatUsage | undefined }) {
  if (seats === undefined) return null;
  const { used, limit } = seats;
  return (
    <span class="seats">
      {used} of {limitText(limit)}
      {limit > 0 && <meter min={0} max={limit} value={used} aria-hidden="true" />}
    </span>
  );
}

/** Formats a limit. */
export function limitText(limit: number | bigint): string {
  return Number(limit) === -1 ? 'unlimited' : String(limit);
}

/** `exports: unlimited, projects: 10`; `none` without limits */
export function limitsText(limits: Readonly<Record<string, bigint>>): string {
  const sorted = Object.entries(limits).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, limit]) => `${name}: ${limitText(limit)}`).join(', ') || 'none';
}
