// Payments that the provider rates risky, and the slots that hold them for review.
import type { Risk, Verdict } from './provider.ts';
import type { SessionFacts } from './session-facts.ts';

/** The option of a driver whose provider rates payments: whether a slot settles risky ones or holds them. */
export const RISKY_PAYMENTS = 'riskyPayments';
export const RISKY_PAYMENTS_VALUES = ['settle', 'hold'] as const satisfies readonly [string, ...string[]];

/** A verified payment that does not settle until an operator releases it or the provider rates it safe. */
export type Held = { readonly kind: 'held'; readonly detail: string; readonly risk: Risk | undefined };

/** Of `charge_session c` and its `slot s`. */
export const RISK_COLUMNS = `coalesce(s.options->>'${RISKY_PAYMENTS}' = 'hold', false) and c.risk_released_at is null as "holdsRisky"`;

/**
 * What a verified payment comes to if its slot holds risky ones. A payment that the provider does not rate is held as
 * well: the query of some accounts leaves the rating out, and a stranger's callback can choose that way of asking.
 */
export function withholdRisky({ status, holdsRisky }: SessionFacts, verdict: Verdict): Held | undefined {
  if (!holdsRisky || status === 'success' || verdict.kind !== 'paid') return undefined;
  const { risk } = verdict;
  if (risk?.level === 0) return undefined;
  const rating = risk ? `risk_level ${riskText(risk)}` : 'the provider does not rate its risk';
  return { kind: 'held', risk, detail: `held for review: ${verdict.detail}, ${rating}` };
}

export function riskText({ level, title }: Risk): string {
  return title === '' ? String(level) : `${level} (${title})`;
}
