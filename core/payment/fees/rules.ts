// The fee rules: reads those in force, decides which of them apply to a payment, and computes its fees.
import type { Pool, PoolClient } from 'pg';
import { epochMs } from '../../storage/sql/epoch.ts';
import type { FeeLine, FeeRule } from '../entities.ts';
import type { Money } from '../money.ts';
import { type FeeFormula, feeAmount } from './amount.ts';

/** The scope of a rule; null means any. A rule with a slot has the slot's gateway. */
export type FeeScope = {
  readonly gateway: string | null;
  readonly slotId: string | null;
  readonly currency: string | null;
};

/** One version of a rule. */
export type FeeRuleFacts = FeeFormula &
  FeeScope &
  Pick<FeeRule, 'id' | 'name' | 'version' | 'validFrom' | 'slotsMayOverride' | 'addedBySlot'> & {
    /** Exclusive end of the settlement times that it applies to; null for none. */
    readonly validTo: Date | null;
    readonly declaredTo: Date | null;
  };

/** The properties of a payment that rules depend on. */
export type FeeSubject = {
  readonly gateway: string;
  readonly slotId: string;
  readonly currency: string;
  /** When it is settled. */
  readonly at: Date;
};

export type FeePayment = Omit<FeeSubject, 'currency'> & { readonly amount: Money };

export type FeeLineFacts = Pick<FeeLine, 'rule' | 'ruleVersion' | 'amountMinor'> & {
  readonly feeRuleId: string;
};

/** The lines are sorted by rule name; `totalMinor` is their sum. */
export type Fees = { readonly lines: readonly FeeLineFacts[]; readonly totalMinor: bigint };

/** Reads the rules in one statement. Inside a transaction, pass its client. */
export async function computeFees(db: Pool | PoolClient, payment: FeePayment): Promise<Fees> {
  return applyRules(await readRulesInForce(db, payment.at), payment);
}

export function applyRules(rules: readonly FeeRuleFacts[], { amount, ...payment }: FeePayment): Fees {
  const lines = matchRules(rules, { ...payment, currency: amount.currency }).map((rule) => ({
    feeRuleId: rule.id,
    rule: rule.name,
    ruleVersion: rule.version,
    amountMinor: feeAmount(rule, amount.minor),
  }));
  return { lines, totalMinor: lines.reduce((sum, line) => sum + line.amountMinor, 0n) };
}

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

export type FeeRuleStateName = 'planned' | 'in_force' | 'overridden' | 'ended';

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

type Row = Omit<
  FeeRuleFacts,
  'fixedMinor' | 'minMinor' | 'maxMinor' | 'validFrom' | 'validTo' | 'declaredTo'
> & { fixedMinor: string; validFromMs: number } & Record<'minMinor' | 'maxMinor', string | null> &
  Record<'validToMs' | 'declaredToMs', number | null>;

const COLUMNS = `id, name, version, gateway, slot_id as "slotId", currency, basis_points as "basisPoints",
  fixed_minor as "fixedMinor", min_minor as "minMinor", max_minor as "maxMinor",
  slots_may_override as "slotsMayOverride", added_by_slot as "addedBySlot",
  ${epochMs('valid_from')} as "validFromMs",
  ${epochMs('valid_to')} as "validToMs",
  ${epochMs('declared_to')} as "declaredToMs"`;

/** Reads all rules in force, which are at most 500; `matchRules` decides which of them apply. */
export async function readRulesInForce(db: Pool | PoolClient, at: Date): Promise<FeeRuleFacts[]> {
  const { rows } = await db.query<Row>({
    name: 'read_fee_rules_in_force',
    text: `select ${COLUMNS} from fee_rule where valid_from <= $1 and (valid_to is null or valid_to > $1)`,
    values: [at],
  });
  return rows.map(factsOf);
}

/** Reads the versions of a rule that were in force at any time of a period (fee_rule_name_idx). */
export async function readRulesOf(db: Pool, name: string, from: Date, to: Date): Promise<FeeRuleFacts[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from fee_rule
     where name = $1 and valid_from < $3 and (valid_to is null or valid_to > $2)`,
    [name, from, to],
  );
  return rows.map(factsOf);
}

function factsOf({ validFromMs, validToMs, declaredToMs, ...rule }: Row): FeeRuleFacts {
  const { fixedMinor, minMinor, maxMinor } = rule;
  return {
    ...rule,
    fixedMinor: BigInt(fixedMinor),
    minMinor: minMinor === null ? null : BigInt(minMinor),
    maxMinor: maxMinor === null ? null : BigInt(maxMinor),
    validFrom: new Date(validFromMs),
    validTo: validToMs === null ? null : new Date(validToMs),
    declaredTo: declaredToMs === null ? null : new Date(declaredToMs),
  };
}
