// Amounts of Stripe's API: by its documentation of currencies, independently of the hub's.
import { minorDigits } from '../../../lib/presentation/money.ts';
import type { Amount } from '../amount.ts';

const WHOLE = /^(BIF|CLP|DJF|GNF|JPY|KMF|KRW|MGA|PYG|RWF|VND|VUV|XAF|XOF|XPF)$/;
const THOUSANDTHS = /^(BHD|JOD|KWD|OMR|TND)$/;

function decimals(currency: string): number {
  if (WHOLE.test(currency)) return 0;
  return THOUSANDTHS.test(currency) ? 3 : 2;
}

export function toApi({ minor, currency }: Amount): number {
  return Number(minor) * 10 ** (decimals(currency) - minorDigits(currency));
}

/** Undefined unless it is a positive amount that Stripe takes. */
export function fromApi(text: string, code: string): Amount | undefined {
  const currency = code.toUpperCase();
  if (!/^[1-9]\d{0,11}$/.test(text) || !/^[a-z]{3}$/.test(code)) return undefined;
  if (THOUSANDTHS.test(currency) && !text.endsWith('0')) return undefined;
  const minor = Number(text) * 10 ** (minorDigits(currency) - decimals(currency));
  return Number.isInteger(minor) ? { minor: BigInt(minor), currency } : undefined;
}
