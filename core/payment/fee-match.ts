// Which fee rules apply to a payment.
import type { FeeFormula } from './fee-amount.ts';

/** What a rule is limited to; null is no limit. A rule with a slot names the slot's gateway too. */
export type FeeScope = {
  readonly gateway: string | null;
  readonly slotId: string | null;
  readonly currency: string | null;
};

/** One version of a rule. */
export type FeeRuleFacts = FeeFormula &
  FeeScope & {
    readonly id: string;
    readonly name: string;
    readonly version: number;
    /** It applies to payments settled from then on, */
    readonly validFrom: Date;
    /** and before then; null is without end. */
    readonly validTo: Date | null;
  };

/** As much of a payment as rules look at. */
export type FeeSubject = {
  readonly gateway: string;
  readonly slotId: string;
  readonly currency: string;
  /** When it is settled. */
  readonly at: Date;
};

/** Of the rules of each name the most specific one that applies, by name. */
export function matchRules(rules: readonly FeeRuleFacts[], payment: FeeSubject): FeeRuleFacts[] {
  const winners = new Map<string, FeeRuleFacts>();
  for (const rule of rules) {
    if (!inForce(rule, payment.at) || !covers(rule, payment)) continue;
    const rival = winners.get(rule.name);
    if (rival === undefined || specificity(rule) > specificity(rival)) winners.set(rule.name, rule);
  }
  return [...winners.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * A slot outweighs a gateway, and a gateway a currency:
 *
 *     slot + currency > slot > gateway + currency > gateway > currency > none
 *
 * No two rules of one name that cover the same payment are equal in this: they would have the same scope, and the
 * versions of one scope follow each other in time.
 */
export function specificity({ slotId, gateway, currency }: FeeScope): number {
  return (slotId === null ? 0 : 4) + (gateway === null ? 0 : 2) + (currency === null ? 0 : 1);
}

function inForce({ validFrom, validTo }: FeeRuleFacts, at: Date): boolean {
  return validFrom <= at && (validTo === null || at < validTo);
}

function covers(scope: FeeScope, payment: FeeSubject): boolean {
  return (['gateway', 'slotId', 'currency'] as const).every(
    (dimension) => scope[dimension] === null || scope[dimension] === payment[dimension],
  );
}
