// Makes the results of checks, and compares clocks.
import type { CheckResult } from '../views/operations/check-result.ts';

export function ok(check: string, detail: string): CheckResult {
  return { check, state: 'ok', detail };
}

export function skipped(check: string, detail: string): CheckResult {
  return { check, state: 'skipped', detail };
}

export function warning(check: string, detail: string, remedy: string): CheckResult {
  return { check, state: 'warning', detail, remedy };
}

export function failed(check: string, detail: string, remedy: string): CheckResult {
  return { check, state: 'failed', detail, remedy };
}

/** Clocks that differ by more make leases and expiries unreliable. */
const CLOCK_TOLERANCE_MS = 5_000;

export function checkClock(check: string, theirs: Date): CheckResult {
  const difference = Math.round((theirs.getTime() - Date.now()) / 1000);
  if (Math.abs(difference) * 1000 <= CLOCK_TOLERANCE_MS)
    return ok(check, 'agrees with the clock of this machine');
  return failed(
    check,
    `${Math.abs(difference)} s ${difference > 0 ? 'ahead of' : 'behind'} the clock of this machine`,
    'synchronize the clocks (NTP)',
  );
}
