// Values of objects: amounts of money, seats and limits.
import { isMessage } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import type { SeatUsage } from '../../../gen/hub/error/v1/error_pb.ts';
import { type Money, MoneySchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { Moment } from './times.tsx';

export type Value = ComponentChildren | Date | Timestamp | Money;

/** Formats times and amounts of money. Returns any other value unchanged. */
export function shown(value: Value): ComponentChildren {
  if (value instanceof Date || isMessage(value, TimestampSchema)) return <Moment at={value} />;
  return isMessage(value, MoneySchema) ? <Amount money={value} /> : value;
}

/** Exact, with the digits of the currency and thousands separators. */
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

export function Seats({ seats }: { readonly seats: SeatUsage | undefined }) {
  if (seats === undefined) return null;
  const { used, limit } = seats;
  return (
    <span class="seats">
      {used} of {limitText(limit)}
      {limit > 0 && <meter min={0} max={limit} value={used} aria-hidden="true" />}
    </span>
  );
}

export function limitText(limit: number | bigint): string {
  return Number(limit) === -1 ? 'unlimited' : String(limit);
}

/** `exports: unlimited, projects: 10`; `none` without limits */
export function limitsText(limits: Readonly<Record<string, bigint>>): string {
  const sorted = Object.entries(limits).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, limit]) => `${name}: ${limitText(limit)}`).join(', ') || 'none';
}
