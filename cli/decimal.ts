// Amounts of money as they are typed and shown: exact decimals of a currency's minor units.

// ISO 4217: digits after the decimal sign, where they are not two.
const DIGITS: Readonly<Record<string, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/** The most the hub takes: what bigint columns and JSON numbers both hold. */
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Reads a decimal such as `100`, `100.5` or `100.50`. Whether there is such a currency is the hub's to say.
 *
 * @throws Error that says what is wrong: no decimal, more decimals than the currency has, or too large.
 */
export function parseDecimal(decimal: string, currency: string): bigint {
  const digits = minorDigits(currency);
  const [, whole, fraction = ''] = /^(\d{1,16})(?:\.(\d{1,16}))?$/.exec(decimal) ?? [];
  if (whole === undefined) throw new Error('Give a decimal amount such as 100.00.');
  if (/[1-9]/.test(fraction.slice(digits))) {
    throw new Error(
      `${currency} has ${digits === 0 ? 'no' : `only ${digits}`} digits after the decimal point.`,
    );
  }
  const minorUnits = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'));
  if (minorUnits > LARGEST) throw new Error('The amount is too large.');
  return minorUnits;
}

/** `100.50`, with exactly the currency's digits. */
export function formatDecimal(minorUnits: bigint, currency: string): string {
  const digits = minorDigits(currency);
  const text = String(minorUnits).padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

function minorDigits(currency: string): number {
  const found = Object.entries(DIGITS).find(([, codes]) => codes.split(' ').includes(currency));
  return found === undefined ? 2 : Number(found[0]);
}
