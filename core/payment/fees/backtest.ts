// Computes what a new fee rule would have charged for the payments of a past period.
import type { EntityManager } from '@mikro-orm/postgresql';
import { FeeRuleSchema } from '../entities.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import type { Period } from '../usage/query-sums.ts';
import { type FeeBacktest, type Part, sumParts } from './backtest-sums.ts';
import { checkPeriod, checkTerms, type FeeTerms } from './check-fee-terms.ts';
import { type FeeRuleFacts, matchRules, readRulesOf } from './rules.ts';

/** `ruleIsNew`: no version of a rule with this name exists for the same payments. */
export type FeeBacktests = { readonly currencies: FeeBacktest[]; readonly ruleIsNew: boolean };

/**
 * Matches payments as settlement would have if the rule had been added before the period, open-ended and as
 * the newest version. A more specific or temporary rule of its name therefore keeps its payments. Reversed
 * payments count, because their fees were charged. A payment that stands again after its reversal counts
 * once, as it was charged.
 */
export function createFeeBacktest({ db, driverOf }: Pick<AdminDependencies, 'db' | 'driverOf'>) {
  /**
   * @param isLimited Whether the caller has a limited token, which would add the rule.
   * @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown`
   */
  return async (terms: FeeTerms, period: Period, isLimited: boolean): Promise<FeeBacktests> => {
    const { from, to } = checkPeriod(period);
    const em = db.em();
    const { slot, ...checked } = await checkTerms(em, driverOf, terms);
    const rule: FeeRuleFacts = {
      ...checked,
      id: '',
      version: Number.POSITIVE_INFINITY,
      slotId: slot?.id ?? null,
      validFrom: from,
      validTo: null,
      declaredTo: null,
      addedBySlot: isLimited,
    };
    const rules = [...(await readRulesOf(db.pool, rule.name, from, to)), rule];
    const parts = await sumParts(db.pool, rule, partsOf(rules, from, to), to);
    const own = parts.filter((part) => matchRules(rules, part).includes(rule));
    return { currencies: byCurrency(own), ruleIsNew: !(await isKnown(em, rule)) };
  };
}

/**
 * Splits a period where rules begin or end, so that the same rules are in force within a part. Returns the
 * starts.
 */
function partsOf(rules: readonly FeeRuleFacts[], from: Date, to: Date): Date[] {
  const times = rules
    .flatMap(({ validFrom, validTo }) => [validFrom, ...(validTo ? [validTo] : [])])
    .map((time) => time.getTime())
    .filter((ms) => ms > from.getTime() && ms < to.getTime());
  return [from.getTime(), ...new Set(times)].sort((one, other) => one - other).map((ms) => new Date(ms));
}

function byCurrency(parts: readonly Part[]): FeeBacktest[] {
  const groups = Map.groupBy(parts, ({ currency }) => currency);
  const sums = Array.from(groups, ([currency, group]) => ({
    currency,
    payments: sum(group, 'payments'),
    paidMinorUnits: sum(group, 'paidMinorUnits'),
    chargedMinorUnits: sum(group, 'chargedMinorUnits'),
    wouldChargeMinorUnits: sum(group, 'wouldChargeMinorUnits'),
  }));
  return sums.sort((one, other) => (one.currency < other.currency ? -1 : 1));
}

function sum(parts: readonly Part[], name: Exclude<keyof FeeBacktest, 'currency'>): bigint {
  return parts.reduce((total, part) => total + part[name], 0n);
}

/** Ignores the rules of other slots (fee_rule_name_idx). */
async function isKnown(em: EntityManager, { name, slotId }: FeeRuleFacts): Promise<boolean> {
  const scope = slotId === null ? {} : { $or: [{ slot: null }, { slot: slotId }] };
  return (await em.count(FeeRuleSchema, { name, ...scope })) > 0;
}
