// JSON schema and text of amounts of money.
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { requireField } from '../../connect/calls.ts';
import * as json from '../schema.ts';

/** The contract keeps amounts below 2^53, so a JSON number holds them exactly. */
const PARTS = json.object('Money', {
  amount: json.text('the amount as a decimal: `100.00`'),
  minorUnits: json.integer("the same in the currency's minor unit: 10000"),
  currency: json.text('ISO 4217 code'),
});
export type MoneyView = json.ValueOf<typeof PARTS>;

export const MONEY = json.readBy(PARTS, moneyView);

export function moneyView(
  money: { readonly minorUnits: bigint; readonly currency: string } | undefined,
): MoneyView {
  const { minorUnits, currency } = requireField(money, 'amount');
  return { amount: formatDecimal(minorUnits, currency), minorUnits: Number(minorUnits), currency };
}

type MoneyName<Name> = Name extends `${infer Member}MinorUnits` ? Member : never;

/** Converts each amount of a message from minor units: `paidMinorUnits` becomes `paid`. */
export function moneyMembers<M extends { readonly currency: string }>(
  message: M,
): { readonly [Name in keyof M as MoneyName<Name>]: MoneyView } {
  const { currency } = message;
  const members = Object.entries<unknown>(message).flatMap(([name, minorUnits]) => {
    const [, member] = /^(.*)MinorUnits$/.exec(name) ?? [];
    return member && typeof minorUnits === 'bigint' ? [[member, moneyView({ minorUnits, currency })]] : [];
  });
  return Object.fromEntries(members);
}

/** `100.00 BDT` */
export function moneyText({ amount, currency }: MoneyView): string {
  return `${amount} ${currency}`;
}
