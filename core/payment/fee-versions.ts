// Administration of fee rules: versions that follow each other in time.
import type { EntityManager } from '@mikro-orm/postgresql';
import { recordChange } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId, newUuid, parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { type FeeRule, FeeRuleSchema } from './entities.ts';
import { type CheckedTerms, checkTerms, type FeeTerms, feeRuleInvalid } from './fee-terms.ts';
import type { PaymentDriver } from './provider.ts';

export type FeeRulesOptions = {
  readonly db: Database;
  readonly clock: Clock;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};

/** When a version applies: from now on and without end, unless said otherwise. */
export type FeePeriod = { readonly validFrom: Date | undefined; readonly validTo: Date | undefined };

export function createFeeRules({ db, clock, driverOf }: FeeRulesOptions) {
  return {
    /**
     * Adds a rule, or the next version of the one with the same name, gateway, slot and currency: whatever was in
     * force or planned from its beginning on gives way to it.
     *
     * @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown`
     */
    add(terms: FeeTerms, period: FeePeriod, actor: Actor): Promise<FeeRule> {
      return db.em().transactional(async (em) => {
        const checked = await checkTerms(em, driverOf, terms);
        await lockRules(em);
        // After the wait for the lock: no version may begin before one that was added meanwhile.
        const now = clock();
        const { validFrom, validTo } = checkPeriod(period, now);
        const earlier = await findVersions(em, checked);
        const ended = earlier.flatMap((version) => endVersion(version, validFrom) ?? []);
        const rule = em.create(FeeRuleSchema, {
          ...checked,
          id: newUuid(),
          version: Math.max(0, ...earlier.map(({ version }) => version)) + 1,
          validFrom,
          validTo,
          createdAt: now,
        });
        recordChange(em, actor, now, {
          action: 'fee_rule.add',
          subject: formatId('fee', rule.id),
          before: earlier.length > 0 ? { ended: ended.map(({ before }) => before) } : null,
          after: { ...describe(rule), ended: ended.map(({ after }) => after) },
        });
        return rule;
      });
    },

    /** Those that are in force or will be, or all. By name, then the most specific first, then the newest version first. */
    async list(includeEnded: boolean): Promise<FeeRule[]> {
      const rules = await db.em().find(
        FeeRuleSchema,
        {},
        {
          populate: ['slot'],
          // Nulls last is the order of `specificity`.
          orderBy: [
            { name: 'asc' },
            { slot: { id: 'asc nulls last' } },
            { gateway: 'asc nulls last' },
            { currency: 'asc nulls last' },
            { version: 'desc' },
          ],
        },
      );
      const now = clock();
      // One that was retired before it began ends as it begins: it is over from the start.
      const isOver = ({ validFrom, validTo }: FeeRule) => validTo && (validTo <= now || validTo <= validFrom);
      return includeEnded ? rules : rules.filter((rule) => !isOver(rule));
    },

    /**
     * Ends a rule now; one that has not begun will never be in force. Retiring a rule that has ended changes nothing.
     *
     * @throws HubError `fee_rule_unknown`
     */
    retire(
      feeRuleId: string,
      actor: Actor,
    ): Promise<{ readonly rule: FeeRule; readonly unchanged: boolean }> {
      return db.em().transactional(async (em) => {
        await lockRules(em);
        const id = parseId('fee', feeRuleId);
        const rule = id ? await em.findOne(FeeRuleSchema, { id }, { populate: ['slot'] }) : null;
        if (rule === null) {
          throw new HubError('fee_rule_unknown', 'there is no fee rule with this id', { field: 'feeRuleId' });
        }
        const ended = endVersion(rule, clock());
        if (ended) {
          recordChange(em, actor, clock(), {
            action: 'fee_rule.retire',
            subject: feeRuleId,
            ...ended,
            detail: { name: rule.name, version: rule.version },
          });
        }
        return { rule, unchanged: ended === undefined };
      });
    },
  };
}

/** One change of the rules at a time, so that two operators cannot both make version n + 1. Readers do not wait. */
async function lockRules(em: EntityManager): Promise<void> {
  await em.execute('lock table fee_rule in share row exclusive mode');
}

/** fee_rule_name_idx */
function findVersions(em: EntityManager, { name, gateway, slot, currency }: CheckedTerms) {
  return em.find(FeeRuleSchema, { name, gateway, slot, currency });
}

/** Payments that are settled are never priced anew, and those that are not are settled from now on. */
function checkPeriod({ validFrom, validTo }: FeePeriod, now: Date) {
  if (validFrom && validFrom < now) {
    throw feeRuleInvalid(
      'rule.validFrom',
      'a rule cannot begin in the past: leave this out to begin now, or try the rule on the past with a backtest',
    );
  }
  const from = validFrom ?? now;
  if (validTo && validTo <= from) {
    throw feeRuleInvalid('rule.validTo', 'the rule has to end after it begins, and after now');
  }
  return { validFrom: from, validTo: validTo ?? null };
}

/** What that changed; undefined if nothing. A version that would have begun later ends as it begins. */
function endVersion(rule: FeeRule, at: Date) {
  const { version, validTo } = rule;
  if (validTo && validTo <= at) return undefined;
  const end = rule.validFrom > at ? rule.validFrom : at;
  if (validTo?.getTime() === end.getTime()) return undefined;
  rule.validTo = end;
  return { before: { version, validTo: validTo ?? null }, after: { version, validTo: end } };
}

function describe(rule: FeeRule): Record<string, unknown> {
  const { name, version, gateway, slot, currency, basisPoints, fixedMinor, minMinor, maxMinor } = rule;
  return {
    name,
    version,
    gateway,
    slot: slot?.name ?? null,
    currency,
    basisPoints,
    fixedMinor: fixedMinor.toString(),
    minMinor: minMinor?.toString() ?? null,
    maxMinor: maxMinor?.toString() ?? null,
    validFrom: rule.validFrom,
    validTo: rule.validTo ?? null,
  };
}
