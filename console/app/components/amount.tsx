// Amounts of money: exact, with the digits of the currency and thousands separators.
import type { Money } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';

export function Amount({ money }: { readonly money: Money | undefined }) {
  if (money === undefined) return null;
  return (
    <span class="amount">
      {decimalText(money.minorUnits, money.currency)} <span class="currency">{money.currency}</span>
    </span>
  );
}

/** `1,234,567.50` from minor units. */
export function decimalText(minorUnits: bigint, currency: string): string {
  const [whole = '', fraction] = formatDecimal(minorUnits, currency).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
