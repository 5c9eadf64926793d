// Results of checks, by state.
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
