// Reads the fee rules in force and applies them to a payment.
import type { Pool, PoolClient } from 'pg';
import type { Money } from '../money.ts';
import { feeAmount } from './amount.ts';
import { type FeeRuleFacts, type FeeSubject, matchRules } from './match.ts';

export type FeePayment = Omit<FeeSubject, 'currency'> & { readonly amount: Money };

/** The charge of one rule. */
export type FeeLineFacts = {
  readonly feeRuleId: string;
  readonly rule: string;
  readonly ruleVersion: number;
  readonly amountMinor: bigint;
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

type Dates = 'validFrom' | 'validTo' | 'declaredTo';
type Row = Omit<FeeRuleFacts, 'fixedMinor' | 'minMinor' | 'maxMinor' | Dates> & {
  fixedMinor: string;
  minMinor: string | null;
  maxMinor: string | null;
  validFromMs: number;
  validToMs: number | null;
  declaredToMs: number | null;
};

const COLUMNS = `id, name, version, gateway, slot_id as "slotId", currency, basis_points as "basisPoints",
  fixed_minor as "fixedMinor", min_minor as "minMinor", max_minor as "maxMinor",
  slots_may_override as "slotsMayOverride", added_by_slot as "addedBySlot",
  (extract(epoch from valid_from) * 1000)::float8 as "validFromMs",
  (extract(epoch from valid_to) * 1000)::float8 as "validToMs",
  (extract(epoch from declared_to) * 1000)::float8 as "declaredToMs"`;

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

function factsOf({
  fixedMinor,
  minMinor,
  maxMinor,
  validFromMs,
  validToMs,
  declaredToMs,
  ...rule
}: Row): FeeRuleFacts {
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
