// Decides which fee rules apply to a payment, for settlement, previews, backtests and lists.
import type { FeeFormula } from './amount.ts';

/** The scope of a rule; null means any. A rule with a slot has the slot's gateway. */
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
    /** Inclusive start of the settlement times that it applies to. */
    readonly validFrom: Date;
    /** Exclusive end; null for none. */
    readonly validTo: Date | null;
    /** The end that it was added with; null for none. `validTo` is earlier if it was replaced or retired. */
    readonly declaredTo: Date | null;
    /** Whether rules added by limited tokens may take its place in their slots. */
    readonly slotsMayOverride: boolean;
    /** Whether it was added by a limited token. */
    readonly addedBySlot: boolean;
  };

/** The properties of a payment that rules depend on. */
export type FeeSubject = {
  readonly gateway: string;
  readonly slotId: string;
  readonly currency: string;
  /** When it is settled. */
  readonly at: Date;
};

/** Returns the applicable rule of each name, sorted by name. */
export function matchRules(rules: readonly FeeRuleFacts[], payment: FeeSubject): FeeRuleFacts[] {
  const candidates = rules.filter((rule) => isValid(rule, payment.at) && covers(rule, payment));
  return Array.from(Map.groupBy(candidates, ({ name }) => name).values(), choose).sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
}

/**
 * Chooses the best rule added by unlimited tokens. Rules added by limited tokens compete only if that rule
 * lets slots override it, or if there is none.
 */
function choose(candidates: readonly FeeRuleFacts[]): FeeRuleFacts {
  const central = candidates.filter(({ addedBySlot }) => !addedBySlot);
  const [first] = central.toSorted(compare);
  if (first !== undefined && !first.slotsMayOverride) return first;
  return candidates.reduce((best, rule) => (compare(rule, best) < 0 ? rule : best));
}

/**
 * Sorts the better rule first: the more specific, then the one with the shorter validity, then the newer
 * version.
 */
function compare(one: FeeRuleFacts, other: FeeRuleFacts): number {
  return (
    specificity(other) - specificity(one) ||
    // Infinity - Infinity is NaN.
    (durationMs(one) === durationMs(other) ? 0 : durationMs(one) - durationMs(other)) ||
    other.version - one.version
  );
}

/**
 * A slot outweighs a gateway, and a gateway a currency:
 *
 *     slot + currency > slot > gateway + currency > gateway > currency > none
 *
 * Rules of one name that cover the same payment and are equal in this have the same scope: they are versions
 * of each other.
 */
function specificity({ slotId, gateway, currency }: FeeScope): number {
  return (slotId === null ? 0 : 4) + (gateway === null ? 0 : 2) + (currency === null ? 0 : 1);
}

/** The declared duration: ending early makes no rule temporary, and no temporary rule narrower. */
function durationMs({ validFrom, declaredTo }: FeeRuleFacts): number {
  return declaredTo === null ? Number.POSITIVE_INFINITY : declaredTo.getTime() - validFrom.getTime();
}

function isValid({ validFrom, validTo }: FeeRuleFacts, at: Date): boolean {
  return validFrom <= at && (validTo === null || at < validTo);
}

function covers(scope: FeeScope, payment: FeeSubject): boolean {
  return (['gateway', 'slotId', 'currency'] as const).every(
    (dimension) => scope[dimension] === null || scope[dimension] === payment[dimension],
  );
}

export const FEE_RULE_STATES = ['planned', 'in_force', 'overridden', 'ended'] as const;
export type FeeRuleStateName = (typeof FEE_RULE_STATES)[number];

/**
 * The state of a rule at a moment. A rule is in force if no rule with the same or a wider scope applies in
 * its place. A narrower rule may still apply to some payments.
 *
 * @param rules All rules of its name.
 */
export function stateOf(rule: FeeRuleFacts, rules: readonly FeeRuleFacts[], at: Date): FeeRuleStateName {
  const { validFrom, validTo } = rule;
  // A rule retired before its start has an empty period.
  if (validTo !== null && (validTo <= at || validTo <= validFrom)) return 'ended';
  if (validFrom > at) return 'planned';
  const applies = matchRules(rules, typicalOf(rule, at)).some(({ id }) => id === rule.id);
  return applies ? 'in_force' : 'overridden';
}

/** A payment that the rule covers and no narrower rule does. */
export function typicalOf({ gateway, slotId, currency }: FeeScope, at: Date): FeeSubject {
  return { gateway: gateway ?? '', slotId: slotId ?? '', currency: currency ?? '', at };
}
