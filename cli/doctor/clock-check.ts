// Compares a clock with the clock of this machine.
import type { CheckResult } from '../views/operations/check-result.ts';
import { failed, ok } from './results.ts';

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
