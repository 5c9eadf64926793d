// Checks the terms of a fee rule.
import type { EntityManager } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { isResourceName } from '../../resource-name.ts';
import type { Slot } from '../entities.ts';
import { MoneyError, minorDigits } from '../money.ts';
import type { PaymentDriver } from '../providers/driver.ts';
import { findSlot } from '../slots/slot-admin.ts';
import type { Period } from '../usage/query-sums.ts';
import type { FeeFormula } from './amount.ts';

/** A rule without its version and period. An empty gateway, slot or currency means any. */
export type FeeTerms = FeeFormula & {
  readonly name: string;
  readonly gateway: string;
  /** Name of the slot. */
  readonly slot: string;
  readonly currency: string;
  readonly slotsMayOverride: boolean;
};

/** Checked terms with the slot looked up. A rule for a slot has the slot's gateway. */
export type CheckedTerms = Omit<FeeTerms, 'gateway' | 'slot' | 'currency'> & {
  readonly gateway: string | null;
  readonly slot: Slot | null;
  readonly currency: string | null;
};

/** @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown` */
export async function checkTerms(
  em: EntityManager,
  driverOf: (gateway: string) => PaymentDriver,
  terms: FeeTerms,
): Promise<CheckedTerms> {
  if (!isResourceName(terms.name)) {
    throw feeRuleInvalid('rule.name', 'a name is 1 to 63 lower-case letters, digits and inner dashes');
  }
  checkFormula(terms);
  const gateway = terms.gateway === '' ? null : driverOf(terms.gateway).gateway;
  const slot = terms.slot === '' ? null : await findSlot(em, terms.slot);
  if (slot && gateway !== null && slot.gateway !== gateway) {
    throw feeRuleInvalid(
      'rule.gateway',
      `the slot "${slot.name}" belongs to ${slot.gateway}: omit the gateway`,
    );
  }
  return {
    ...terms,
    gateway: slot?.gateway ?? gateway,
    slot,
    currency: terms.currency === '' ? null : terms.currency,
  };
}

/** @throws HubError `fee_rule_invalid` */
export function checkPeriod({ from, to }: Period): { readonly from: Date; readonly to: Date } {
  if (from && to && from < to) return { from, to };
  throw feeRuleInvalid('to', 'the period needs a start, and an end after it');
}

export function feeRuleInvalid(field: string, message: string): HubError {
  return new HubError('fee_rule_invalid', message, { field });
}

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);

function checkFormula({ currency, basisPoints, fixedMinor, minMinor, maxMinor }: FeeTerms): void {
  if (basisPoints < 0 || basisPoints > 10_000) {
    throw feeRuleInvalid('rule.basisPoints', 'basis points must be between 0 and 10000 (100 %)');
  }
  const amounts = { fixedMinorUnits: fixedMinor, minMinorUnits: minMinor, maxMinorUnits: maxMinor };
  for (const [field, amount] of Object.entries(amounts)) {
    if (amount === null) continue;
    if (amount < 0n || amount > LARGEST) {
      throw feeRuleInvalid(`rule.${field}`, `it must be between 0 and ${LARGEST} minor units`);
    }
    if (amount > 0n && currency === '') {
      throw feeRuleInvalid('rule.currency', `an amount (${field}) needs a currency`);
    }
  }
  if (minMinor !== null && maxMinor !== null && minMinor > maxMinor) {
    throw feeRuleInvalid('rule.minMinorUnits', 'the minimum is above the maximum');
  }
  if (currency !== '') checkCurrency(currency);
}

function checkCurrency(currency: string): void {
  try {
    minorDigits(currency);
  } catch (error) {
    if (error instanceof MoneyError) throw feeRuleInvalid('rule.currency', error.message);
    throw error;
  }
}
