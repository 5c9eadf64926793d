// Administers the versions of fee rules: open-ended ones that replace each other, and temporary ones.
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import { findById } from '../../storage/sql/find-by-id.ts';
import { type FeeRule, FeeRuleSchema } from '../entities.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { findSlot } from '../slots/slot-admin.ts';
import { checkTerms, type FeeTerms, feeRuleInvalid } from './check-fee-terms.ts';
import { lockRules } from './lock-rules.ts';
import { type FeeRuleFacts, type FeeRuleStateName, matchRules, stateOf, typicalOf } from './rules.ts';

/** The period of a version. Default: from now on, without end. */
export type FeePeriod = { readonly validFrom: Date | undefined; readonly validTo: Date | undefined };

/** The caller. A limited token may change rules of limited tokens, and rules that let slots override them. */
export type FeeAuthor = { readonly actor: Actor; readonly isLimited: boolean };

export type FeeRuleWithState = { readonly rule: FeeRule; readonly state: FeeRuleStateName };

/** Rules in force or planned. Every settlement reads the ones in force. */
const MAX_RULES = 500;
/** The newest ended versions that a list returns. */
const MAX_ENDED_LISTED = 1_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createFeeRules({ db, clock, driverOf }: Omit<AdminDependencies, 'sealer'>) {
  return {
    /**
     * Adds a rule, or the next version of the one with the same name, gateway, slot and currency. An
     * open-ended version ends the open-ended ones before it where it begins; a temporary one ends nothing.
     *
     * @throws HubError `fee_rule_invalid`, `fee_rule_locked`, `gateway_unknown`, `slot_unknown`, `too_many`
     */
    add(terms: FeeTerms, period: FeePeriod, { actor, isLimited }: FeeAuthor): Promise<FeeRuleWithState> {
      return db.em().transactional(async (em) => {
        const checked = await checkTerms(em, driverOf, terms);
        if (isLimited && checked.slotsMayOverride) {
          throw feeRuleInvalid('rule.slotsMayOverride', 'omit this: it is for callers without limits');
        }
        await lockRules(em);
        // Read after the lock is granted, so that no version begins before one added meanwhile.
        const now = clock();
        if ((await em.count(FeeRuleSchema, notEnded(now))) >= MAX_RULES) {
          const message = `a hub has at most ${MAX_RULES} fee rules in force or planned: retire one`;
          throw new HubError('too_many', message, { field: 'rule' });
        }
        const { validFrom, validTo } = checkPeriod(period, now);
        // fee_rule_name_idx
        const ofName = await em.find(FeeRuleSchema, { name: checked.name });
        const { gateway, slot, currency } = checked;
        if (isLimited)
          refuseLocked(ofName, typicalOf({ gateway, slotId: slot?.id ?? null, currency }, validFrom));
        const earlier = ofName.filter(
          (rule) =>
            (rule.gateway ?? null) === gateway &&
            rule.slot?.id === slot?.id &&
            (rule.currency ?? null) === currency,
        );
        const replaced = validTo !== null ? [] : earlier.filter((rule) => rule.declaredTo == null);
        const ended = replaced
          .filter((rule) => !isLimited || isOpenToSlots(rule))
          .flatMap((version) => endVersion(version, validFrom) ?? []);
        const rule = em.create(FeeRuleSchema, {
          ...checked,
          id: newUuid(),
          version: Math.max(0, ...earlier.map(({ version }) => version)) + 1,
          validFrom,
          validTo,
          declaredTo: validTo,
          addedBySlot: isLimited,
          createdAt: now,
        });
        recordChange(em, actor, now, {
          action: 'fee_rule.add',
          subject: formatId('fee', rule.id),
          before: earlier.length > 0 ? { ended: ended.map(({ before }) => before) } : null,
          after: { ...describe(rule), ended: ended.map(({ after }) => after) },
        });
        return withState(rule, [...ofName, rule], now);
      });
    },

    /**
     * Lists rules in force and planned, and with `includeEnded` the newest ended ones. With `slot`, only
     * rules that may apply to its payments. Sorted by name, then the most specific first, then the newest
     * version first.
     *
     * @throws HubError `slot_unknown`
     */
    async list(filter: { includeEnded: boolean; slot?: string | undefined }): Promise<FeeRuleWithState[]> {
      const em = db.em();
      const slot = filter.slot === undefined ? undefined : await findSlot(em, filter.slot);
      const ofSlot = slot
        ? [{ $or: [{ slot }, { slot: null }] }, { $or: [{ gateway: slot.gateway }, { gateway: null }] }]
        : [];
      const now = clock();
      const current = await em.find(
        FeeRuleSchema,
        { $and: [notEnded(now), ...ofSlot] },
        { populate: ['slot'] },
      );
      const ended = filter.includeEnded
        ? await em.find(
            FeeRuleSchema,
            { $and: [{ validTo: { $lte: now } }, ...ofSlot] },
            { populate: ['slot'], orderBy: { id: 'desc' }, limit: MAX_ENDED_LISTED },
          )
        : [];
      const rules = [...current, ...ended].sort(inOrder);
      const byName = Map.groupBy(rules, ({ name }) => name);
      return rules
        .map((rule) => withState(rule, byName.get(rule.name) ?? [], now))
        .filter(({ state }) => filter.includeEnded || state !== 'ended');
    },

    /**
     * Ends a rule now; one that has not begun will never be in force. Retiring a rule that has ended changes
     * nothing.
     *
     * @throws HubError `fee_rule_unknown`, `fee_rule_locked`
     */
    retire(
      feeRuleId: string,
      { actor, isLimited }: FeeAuthor,
    ): Promise<FeeRuleWithState & { readonly unchanged: boolean }> {
      return db.em().transactional(async (em) => {
        await lockRules(em);
        const rule = await findById(em, FeeRuleSchema, 'fee', feeRuleId, { populate: ['slot'] });
        if (isLimited && !isOpenToSlots(rule)) throw feeRuleLocked('feeRuleId', rule.name);
        const now = clock();
        const ended = endVersion(rule, now);
        if (ended) {
          recordChange(em, actor, now, {
            action: 'fee_rule.retire',
            subject: feeRuleId,
            ...ended,
            detail: { name: rule.name, version: rule.version },
          });
        }
        return { rule, state: 'ended', unchanged: ended === undefined };
      });
    },
  };
}

function notEnded(now: Date) {
  return { $or: [{ validTo: null }, { validTo: { $gt: now } }] };
}

function inOrder(one: FeeRule, other: FeeRule): number {
  const keysOf = ({ name, slot, gateway, currency }: FeeRule) => [name, slot?.id, gateway, currency];
  const [keys, others] = [keysOf(one), keysOf(other)];
  const differs = keys.findIndex((key, index) => (key ?? LAST) !== (others[index] ?? LAST));
  if (differs === -1) return other.version - one.version;
  return (keys[differs] ?? LAST) < (others[differs] ?? LAST) ? -1 : 1;
}
/** Sorts a missing value last. */
const LAST = '\uffff';

/** @throws HubError `fee_rule_locked` if a rule that slots may not override applies to the payment */
function refuseLocked(ofName: readonly FeeRule[], payment: ReturnType<typeof typicalOf>): void {
  const central = ofName.filter(({ addedBySlot }) => !addedBySlot).map(factsOf);
  const [applies] = matchRules(central, payment);
  if (applies !== undefined && !applies.slotsMayOverride) throw feeRuleLocked('rule.name', applies.name);
}

function isOpenToSlots({ addedBySlot, slotsMayOverride }: FeeRule): boolean {
  return addedBySlot || slotsMayOverride;
}

function feeRuleLocked(field: string, name: string): HubError {
  return new HubError(
    'fee_rule_locked',
    `the rule "${name}" does not let slots override it: ask an operator whose token is not limited ` +
      'for the change',
    { field },
  );
}

/** A rule cannot begin in the past, because settled payments are never repriced. */
function checkPeriod({ validFrom, validTo }: FeePeriod, now: Date) {
  if (validFrom && validFrom < now) {
    throw feeRuleInvalid(
      'rule.validFrom',
      'a rule cannot begin in the past: omit this to begin now, or test the rule on past payments ' +
        'with a backtest',
    );
  }
  const from = validFrom ?? now;
  if (validTo && validTo <= from) {
    throw feeRuleInvalid('rule.validTo', 'the rule must end after it begins and after now');
  }
  return { validFrom: from, validTo: validTo ?? null };
}

/** Returns the change; undefined if there is none. A planned version gets an empty period. */
function endVersion(rule: FeeRule, at: Date) {
  const { version, validTo } = rule;
  if (validTo && validTo <= at) return undefined;
  const end = rule.validFrom > at ? rule.validFrom : at;
  if (validTo?.getTime() === end.getTime()) return undefined;
  rule.validTo = end;
  return { before: { version, validTo: validTo ?? null }, after: { version, validTo: end } };
}

function withState(rule: FeeRule, ofName: readonly FeeRule[], now: Date): FeeRuleWithState {
  return { rule, state: stateOf(factsOf(rule), ofName.map(factsOf), now) };
}

function factsOf(rule: FeeRule): FeeRuleFacts {
  const { slot, ...facts } = rule;
  const { gateway = null, currency = null, minMinor = null, maxMinor = null } = rule;
  const { validTo = null, declaredTo = null } = rule;
  return { ...facts, slotId: slot?.id ?? null, gateway, currency, minMinor, maxMinor, validTo, declaredTo };
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
    slotsMayOverride: rule.slotsMayOverride,
    addedBySlot: rule.addedBySlot,
    validFrom: rule.validFrom,
    validTo: rule.validTo ?? null,
  };
}
