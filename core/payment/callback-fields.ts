// The fields of a callback: which of them its driver reads, and which of them the journal keeps.
import { createHash } from 'node:crypto';
import { type CallbackClaim, CallbackMalformed, type PaymentDriver } from './provider.ts';

type Fields = Readonly<Record<string, string>>;

/** Characters of a field that a driver reads: ids and words, which are no longer at any provider. */
export const LONGEST_READ = 255;
/** Bytes of a field that the journal keeps for operators: amounts, ids, words. */
export const MOST_SHOWN_BYTES = 100;
/** What the journal calls the fields it does not keep. No callback can have it: names with brackets are refused. */
export const OTHER_FIELDS = '[other fields]';

/**
 * What a callback claims. The driver is given the fields it reads and no others, so that what it says of a callback
 * from the journal is what it said of it when it came.
 *
 * @throws CallbackMalformed
 */
export function readClaimOf(
  { callback: { reads }, readCallback }: PaymentDriver,
  fields: Fields,
): CallbackClaim {
  const given = Object.entries(fields).filter(([name]) => reads.includes(name));
  // Characters, as the contract counts them: some take two places of a string.
  const tooLong = given.find(([, value]) => value.length > LONGEST_READ && [...value].length > LONGEST_READ);
  if (tooLong !== undefined) {
    const [name] = tooLong;
    throw new CallbackMalformed(name, `${name} has to be at most ${LONGEST_READ} characters`);
  }
  return readCallback(Object.fromEntries(given));
}

/**
 * What the journal keeps: the fields that the driver reads, and those that it names for operators, unless they are too
 * long. Anybody can send others, so of those only their number, size and digest are kept; of credentials nothing is.
 */
export function keptFields(
  { reads, shows = [], unjournaled = [] }: PaymentDriver['callback'],
  fields: Fields,
): Fields {
  const kept: [name: string, value: string][] = [];
  const others: [name: string, value: string][] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (unjournaled.includes(name)) continue;
    const isKept =
      reads.includes(name) || (shows.includes(name) && Buffer.byteLength(value) <= MOST_SHOWN_BYTES);
    (isKept ? kept : others).push([name, value]);
  }
  return Object.fromEntries(others.length > 0 ? [...kept, [OTHER_FIELDS, summaryOf(others)]] : kept);
}

/** The digest is that of their JSON, an array of pairs in the order of their names: equal for equal fields. */
function summaryOf(fields: readonly (readonly [name: string, value: string])[]): string {
  const json = JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const digest = createHash('sha256').update(json).digest('hex');
  return `${fields.length}, ${Buffer.byteLength(json)} bytes, SHA-256 ${digest}`;
}
