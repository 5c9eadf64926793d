// Converts amounts between the minor units of ISO 4217 and those of Stripe, exactly.
import { checkedMoney, formatMoney, type Money, MoneyError, minorDigits } from '../../money.ts';
import { ProviderRefused, ProviderUnavailable } from '../driver.ts';

// Currencies whose amounts do not have two decimals in the API: https://docs.stripe.com/currencies.
const ZERO = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF';
/** The last digit has to be zero. */
const THREE = 'BHD JOD KWD OMR TND';
/** Currencies without decimals whose amounts nevertheless count hundredths. */
const ZERO_AS_TWO = 'ISK UGX';
const DIGITS = new Map<string, number>([
  ...ZERO.split(' ').map((code) => [code, 0] as const),
  ...THREE.split(' ').map((code) => [code, 3] as const),
  ...ZERO_AS_TWO.split(' ').map((code) => [code, 2] as const),
]);

/** @throws ProviderRefused for an amount that Stripe cannot take */
export function toStripeAmount(money: Money): number {
  const { minor, currency } = money;
  const shift = shiftOf(currency);
  if (shift === undefined) throw new ProviderRefused(`Stripe does not take payments in ${currency}`);
  const factor = 10n ** BigInt(Math.abs(shift));
  const amount = shift >= 0 ? minor * factor : minor / factor;
  const isExact = shift >= 0 || minor % factor === 0n;
  if (!isExact || (DIGITS.get(currency) === 3 && amount % 10n !== 0n)) {
    throw new ProviderRefused(`Stripe does not take ${formatMoney(money)}: round it to fewer decimals`);
  }
  return Number(amount);
}

/** @throws ProviderUnavailable for an amount that the hub cannot read */
export function fromStripeAmount(amount: number | null, code: string | null): Money {
  const currency = (code ?? '').toUpperCase();
  const unreadable = new ProviderUnavailable(
    `the provider's answer has no amount of money: ${amount} ${currency}`,
  );
  if (!Number.isSafeInteger(amount)) throw unreadable;
  try {
    const shift = shiftOf(currency) ?? 0;
    const factor = 10n ** BigInt(Math.abs(shift));
    const given = BigInt(amount ?? 0);
    if (shift > 0 && given % factor !== 0n) throw unreadable;
    return checkedMoney(shift > 0 ? given / factor : given * factor, currency);
  } catch (error) {
    throw error instanceof MoneyError ? unreadable : error;
  }
}

/**
 * The decimals of Stripe's amounts less those of the hub's. Undefined for a currency that Stripe does not
 * take.
 */
function shiftOf(currency: string): number | undefined {
  const digits = minorDigits(currency);
  const known = DIGITS.get(currency);
  if (known !== undefined) return known - digits;
  return digits === 2 ? 0 : undefined;
}
