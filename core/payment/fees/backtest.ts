// Computes what a new fee rule would have charged for the payments of a past period.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '../../storage/database.ts';
import { FeeRuleSchema } from '../entities.ts';
import type { PaymentDriver } from '../providers/driver.ts';
import { type FeeBacktest, type Part, sumParts } from './backtest-sums.ts';
import { type FeeRuleFacts, matchRules, readRulesOf } from './rules.ts';
import { checkTerms, type FeeTerms, feeRuleInvalid } from './terms.ts';

/** `from` is inclusive, `to` exclusive. */
export type Period = { readonly from: Date | undefined; readonly to: Date | undefined };

/** `ruleIsNew`: no version of a rule with this name exists for the same payments. */
export type FeeBacktests = { readonly currencies: readonly FeeBacktest[]; readonly ruleIsNew: boolean };

export type FeeBacktestOptions = {
  readonly db: Database;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};

/**
 * Matches payments as settlement would have if the rule had been added before the period, open-ended and as
 * the newest version. A more specific or temporary rule of its name therefore keeps its payments. Reversed
 * payments count, because their fees were charged. A payment that stands again after its reversal counts
 * once, as it was charged.
 */
export function createFeeBacktest({ db, driverOf }: FeeBacktestOptions) {
  /**
   * @param isLimited Whether the caller has a limited token, which would add the rule.
   * @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown`
   */
  return async (terms: FeeTerms, { from, to }: Period, isLimited: boolean): Promise<FeeBacktests> => {
    if (!from || !to || from >= to) {
      throw feeRuleInvalid('to', 'the period needs a start, and an end after it');
    }
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
    payments: sum(group.map(({ payments }) => payments)),
    paidMinor: sum(group.map(({ paidMinor }) => paidMinor)),
    chargedMinor: sum(group.map(({ chargedMinor }) => chargedMinor)),
    wouldChargeMinor: sum(group.map(({ wouldChargeMinor }) => wouldChargeMinor)),
  }));
  return sums.sort((one, other) => (one.currency < other.currency ? -1 : 1));
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** Ignores the rules of other slots (fee_rule_name_idx). */
async function isKnown(em: EntityManager, { name, slotId }: FeeRuleFacts): Promise<boolean> {
  const scope = slotId === null ? {} : { $or: [{ slot: null }, { slot: slotId }] };
  return (await em.count(FeeRuleSchema, { name, ...scope })) > 0;
}
