// Amounts of money as people read them: exact decimals of a currency's minor units.

const DIGITS = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/** ISO 4217: the digits after the decimal sign, of the currencies for which they are not two. */
export const MINOR_DIGITS: ReadonlyMap<string, number> = new Map(
  Object.entries(DIGITS).flatMap(([digits, codes]) => codes.split(' ').map((code) => [code, Number(digits)])),
);

/** Digits after the decimal sign. */
export function minorDigits(currency: string): number {
  return MINOR_DIGITS.get(currency) ?? 2;
}

/** `100.50`, with exactly the currency's digits. */
export function formatDecimal(minorUnits: bigint, currency: string): string {
  if (minorUnits < 0n) return `-${formatDecimal(-minorUnits, currency)}`;
  const digits = minorDigits(currency);
  const text = String(minorUnits).padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
