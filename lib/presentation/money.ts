// Amounts of money as people read them: exact decimals of a currency's minor units.

// ISO 4217: digits after the decimal sign, where they are not two.
const DIGITS: Readonly<Record<string, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/** Digits after the decimal sign. */
export function minorDigits(currency: string): number {
  const found = Object.entries(DIGITS).find(([, codes]) => codes.split(' ').includes(currency));
  return found === undefined ? 2 : Number(found[0]);
}

/** `100.50`, with exactly the currency's digits. */
export function formatDecimal(minorUnits: bigint, currency: string): string {
  if (minorUnits < 0n) return `-${formatDecimal(-minorUnits, currency)}`;
  const digits = minorDigits(currency);
  const text = String(minorUnits).padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
