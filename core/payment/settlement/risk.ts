// Payments that the provider rates risky, and the slots that hold them for review.
import type { ChargeStatusName } from '../entities.ts';
import type { Risk, Verdict } from '../providers/driver.ts';

/** The slot option, for providers that rate payments: settle risky payments or hold them. */
export const RISKY_PAYMENTS = 'riskyPayments';
export const RISKY_PAYMENTS_VALUES = ['settle', 'hold'] as const satisfies readonly [string, ...string[]];

/** A verified payment that does not settle until an operator releases it or the provider rates it safe. */
export type Held = { readonly kind: 'held'; readonly detail: string; readonly risk: Risk | undefined };

/** SQL columns of `charge_session c` and its `slot s`. */
export const RISK_COLUMNS = `coalesce(s.options->>'${RISKY_PAYMENTS}' = 'hold', false)
  and c.risk_released_at is null as "holdsRisky"`;

/**
 * Returns a hold for a verified payment that its slot must not settle yet. Unrated payments are held too: the
 * query API of some accounts omits the rating, and a forged callback can make the hub use that API.
 */
export function withholdRisky(
  { status, holdsRisky }: { readonly status: ChargeStatusName; readonly holdsRisky: boolean },
  verdict: Verdict,
): Held | undefined {
  if (!holdsRisky || status === 'success' || verdict.kind !== 'paid') return undefined;
  const { risk } = verdict;
  if (risk?.level === 0) return undefined;
  const rating = risk ? `risk_level ${riskText(risk)}` : 'the provider does not rate its risk';
  return { kind: 'held', risk, detail: `held for review: ${verdict.detail}, ${rating}` };
}

export function riskText({ level, title }: Risk): string {
  return title === '' ? String(level) : `${level} (${title})`;
}
