// Amounts as the simulated providers read and write them: decimals in text, minor units inside.

/** `minor` counts the currency's minor unit. */
export type Amount = { readonly minor: bigint; readonly currency: string };

// ISO 4217: digits after the decimal sign, where they are not two. Kept apart from the hub's own table on purpose:
// the provider's side of the books has to be right without it.
const NO_MINOR_UNIT = /^(BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|UYI|VND|VUV|XAF|XOF|XPF)$/;
const THREE_DIGITS = /^(BHD|IQD|JOD|KWD|LYD|OMR|TND)$/;

/** Reads `100`, `100.5` or `100.50`; undefined for anything else, for zero, and for more decimals than there are. */
export function parseAmount(text: string, currency: string): Amount | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,13})(?:\.(\d{1,3}))?$/.exec(text) ?? [];
  const digits = digitsOf(currency);
  if (whole === '' || fraction.length > digits || !/^[A-Z]{3}$/.test(currency)) return undefined;
  const minor = BigInt(whole + fraction.padEnd(digits, '0'));
  return minor > 0n ? { minor, currency } : undefined;
}

/** `100.50`, with exactly the currency's digits. */
export function formatAmount({ minor, currency }: Amount): string {
  const digits = digitsOf(currency);
  const text = minor.toString().padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** `100.5` or `100`: without the zeros at the end, as some answers of providers have it. */
export function shortAmount(amount: Amount): string {
  const text = formatAmount(amount);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** What the merchant gets after a provider's own fee of 2.5 %. */
export function lessProviderFee({ minor, currency }: Amount): Amount {
  return { minor: (minor * 975n) / 1000n, currency };
}

/** Takas for one unit of any other currency: an invented rate, so that a converted amount differs from the asked one. */
const TAKA_RATE = 110n;

/** What a provider that keeps its books in taka notes down, with its rate as text. */
export function inTaka({ minor, currency }: Amount): { readonly amount: Amount; readonly rate: string } {
  if (currency === 'BDT') return { amount: { minor, currency }, rate: '1.0000' };
  const taka = (minor * TAKA_RATE * 100n) / 10n ** BigInt(digitsOf(currency));
  return { amount: { minor: taka, currency: 'BDT' }, rate: `${TAKA_RATE}.0000` };
}

function digitsOf(currency: string): number {
  if (NO_MINOR_UNIT.test(currency)) return 0;
  return THREE_DIGITS.test(currency) ? 3 : 2;
}
