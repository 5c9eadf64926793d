// Formats single values: times, seats, limits.

/** A protobuf Timestamp in RFC 3339, in UTC with milliseconds. */
export function rfc3339(instant: { readonly seconds: bigint; readonly nanos: number }): string {
  return new Date(Number(instant.seconds) * 1000 + Math.floor(instant.nanos / 1e6)).toISOString();
}

/** The same with seconds, for text output. */
export function shortTime(time: string | undefined): string | undefined {
  return time?.replace(/\.\d+Z$/, 'Z');
}

/** Formats a number of seats or the value of a limit; -1 is unlimited. */
export function seatsText(value: number): string {
  return value === -1 ? 'unlimited' : String(value);
}

/** Converts limits to numbers, sorted by name. */
export function limitNumbers(limits: Readonly<Record<string, bigint>>): Record<string, number> {
  const byName = Object.entries(limits).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(byName.map(([name, value]) => [name, Number(value)]));
}

/** `exports=1000 projects=unlimited` */
export function limitsText(limits: Readonly<Record<string, number>>, separator = ' '): string {
  return Object.entries(limits)
    .map(([name, value]) => `${name}=${seatsText(value)}`)
    .join(separator);
}

/** `status=VALID tran_id=T1` */
export function pairsText(pairs: Readonly<Record<string, string>>, separator = ' '): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(separator);
}
