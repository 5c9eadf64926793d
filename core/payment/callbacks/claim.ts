// Parses the claim of a callback and selects the fields that the journal stores.
import { createHash } from 'node:crypto';
import { parseId } from '../../ids.ts';
import { type CallbackClaim, CallbackMalformed, type PaymentDriver } from '../providers/driver.ts';
import { driverOf } from '../providers/registry.ts';

type Fields = Readonly<Record<string, string>>;

export type ReceivedCallback = {
  readonly gateway: string;
  /** The `session_id` query parameter, unparsed. */
  readonly claimedSessionId: string | undefined;
  /** The fields that the journal stores. */
  readonly fields: Fields;
  readonly claim: CallbackClaim;
};

/**
 * The maximum length, in characters, of a field that a driver reads. Providers send shorter ids and words.
 */
export const LONGEST_READ = 255;
/** The maximum size of a field that the journal stores only for operators: amounts, ids, words. */
export const MOST_SHOWN_BYTES = 100;
/**
 * The journal's name for the fields it does not store. No callback can have it: brackets are refused in
 * names.
 */
export const OTHER_FIELDS = '[other fields]';

/**
 * Parses the claim. The driver gets only the fields it reads, which the journal stores, so a journaled
 * callback parses to the same claim as the received one.
 *
 * @throws CallbackMalformed
 */
export function parseClaim(
  { callback: { reads }, readCallback }: PaymentDriver,
  fields: Fields,
): CallbackClaim {
  const given = Object.entries(fields).filter(([name]) => reads.includes(name));
  // Counts characters, as the contract does: some take two UTF-16 code units.
  const tooLong = given.find(([, value]) => value.length > LONGEST_READ && [...value].length > LONGEST_READ);
  if (tooLong !== undefined) {
    const [name] = tooLong;
    throw new CallbackMalformed(name, `${name} has to be at most ${LONGEST_READ} characters`);
  }
  return readCallback(Object.fromEntries(given));
}

/** Parses the claim of a journaled callback; undefined if only an older version accepted its fields. */
export function parseJournaledClaim(gateway: string, fields: Fields): CallbackClaim | undefined {
  try {
    return parseClaim(driverOf(gateway), fields);
  } catch (error) {
    if (error instanceof CallbackMalformed) return undefined;
    throw error;
  }
}

/** The session id in `session_id`; undefined if the parameter is missing or no session id. */
export function claimedSessionId(callback: Pick<ReceivedCallback, 'claimedSessionId'>): string | undefined {
  return callback.claimedSessionId === undefined ? undefined : parseId('chs', callback.claimedSessionId);
}

/** Whether the provider has to confirm the claim before it can change the session. */
export function mayBePaid({ outcome }: CallbackClaim): boolean {
  return outcome === 'paid' || outcome === 'unknown';
}

/** The journal's reason for a callback whose status the hub ignores. */
export function reasonIgnored({ status }: CallbackClaim): string {
  return `status ${JSON.stringify(status)} is of no consequence`;
}

/**
 * The fields that the journal stores: those that the driver reads, and those that it shows to operators
 * unless they are too long. Anybody can send other fields, so the journal stores only their number, size and
 * digest. It stores no credentials.
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
  return Object.fromEntries(others.length > 0 ? [...kept, [OTHER_FIELDS, summarize(others)]] : kept);
}

/** The digest covers the JSON array of the pairs sorted by name, so that equal fields have equal digests. */
function summarize(fields: readonly (readonly [name: string, value: string])[]): string {
  const json = JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const digest = createHash('sha256').update(json).digest('hex');
  return `${fields.length}, ${Buffer.byteLength(json)} bytes, SHA-256 ${digest}`;
}
