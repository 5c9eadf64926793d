// The fields of a callback: which of them its driver is given, and how much of all of them the journal keeps.
import { type CallbackClaim, CallbackMalformed, type PaymentDriver } from './provider.ts';

type Fields = Readonly<Record<string, string>>;

/** Characters of a field that a driver reads: ids and words, which are no longer at any provider. */
export const LONGEST_READ = 255;
/** Bytes of all other fields of a callback together, names and values, as JSON. */
export const MOST_UNREAD_BYTES = 4096;
/** What the journal calls the fields it left out. No callback can have it: names with brackets are refused. */
export const LEFT_OUT = '[left out]';

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
 * What the journal keeps of the fields: whole what the driver reads, none that is a credential, and of the others, in
 * their order, what there is room for. Anybody can send them, so a row of the journal may not be as large as they like.
 */
export function keptFields({ reads, unjournaled = [] }: PaymentDriver['callback'], fields: Fields): Fields {
  const kept: [name: string, value: string][] = [];
  let [room, leftOut] = [MOST_UNREAD_BYTES, 0];
  for (const [name, value] of Object.entries(fields)) {
    if (unjournaled.includes(name)) continue;
    const bytes = reads.includes(name) ? 0 : Buffer.byteLength(JSON.stringify({ [name]: value }));
    if (bytes > room) {
      leftOut += 1;
      continue;
    }
    room -= bytes;
    kept.push([name, value]);
  }
  if (leftOut > 0) kept.push([LEFT_OUT, `${leftOut} of the fields: too long to be kept`]);
  return Object.fromEntries(kept);
}
