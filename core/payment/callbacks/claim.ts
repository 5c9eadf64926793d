// The claim of a callback: parses it, selects the fields that the journal stores, and finds the session.
import { createHash } from 'node:crypto';
import { parseId } from '../../ids.ts';
import { type CallbackClaim, CallbackMalformed, type PaymentDriver } from '../providers/driver.ts';
import { driverOf } from '../providers/registry.ts';
import type { FindSession, StoredSession } from '../sessions/read-sessions.ts';

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
export const MAX_READ_CHARACTERS = 255;
/** The maximum size of a field that the journal stores only for operators: amounts, ids, words. */
export const MAX_SHOWN_BYTES = 100;
/**
 * The journal's name for the fields it does not store. No callback can have it: brackets are refused in
 * names.
 */
export const OTHER_FIELDS = '[other fields]';

/** The journal's name for the slot whose secret verified the signature of the callback. */
export const SLOT_FIELD = '[slot]';

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
  const tooLong = given.find(
    ([, value]) => value.length > MAX_READ_CHARACTERS && [...value].length > MAX_READ_CHARACTERS,
  );
  if (tooLong !== undefined) {
    const [name] = tooLong;
    throw new CallbackMalformed(name, `${name} must be at most ${MAX_READ_CHARACTERS} characters`);
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

/** Whether all ids of a callback are those of the session. */
export function agrees(
  { gateway, merchantTransactionId, providerPaymentId }: StoredSession,
  { gateway: calledGateway, claim }: Pick<ReceivedCallback, 'gateway' | 'claim'>,
): boolean {
  return (
    gateway === calledGateway &&
    (!claim.merchantTransactionId || claim.merchantTransactionId === merchantTransactionId) &&
    (!claim.providerPaymentId || claim.providerPaymentId === providerPaymentId)
  );
}

/** Whether the provider has to confirm the claim before it can change the session. */
export function mayBePaid({ outcome }: CallbackClaim): boolean {
  return outcome === 'paid' || outcome === 'unknown';
}

/** The journal's reason for a callback whose status the hub ignores. */
export function reasonIgnored({ status }: CallbackClaim): string {
  return `status ${JSON.stringify(status)} has no effect`;
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
      reads.includes(name) || (shows.includes(name) && Buffer.byteLength(value) <= MAX_SHOWN_BYTES);
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

export type Resolution =
  | { readonly kind: 'session'; readonly session: StoredSession }
  | { readonly kind: 'unresolved'; readonly reason: string }
  /** The callback names two sessions, or one of another gateway. */
  | { readonly kind: 'mismatch'; readonly reason: string; readonly sessionId?: string };

type Resolvable = Pick<ReceivedCallback, 'gateway' | 'claimedSessionId'> & {
  readonly claimedSession?: StoredSession | undefined;
};

/**
 * Finds the session of a callback: by `session_id`, then by the transaction id, then by the provider's
 * payment id or session key; a callback about refunds only by the payment. Skips an id that names no session. A forged callback can name
 * any session, so verification has to follow.
 */
export async function resolveSession(
  find: FindSession,
  callback: Resolvable,
  claim: CallbackClaim,
): Promise<Resolution> {
  const named = await findClaimed(find, callback);
  if (named !== undefined && named.gateway !== callback.gateway) {
    return mismatch(named, `its session_id names a session of ${named.gateway}`);
  }
  if (claim.paymentProof) return paidBy(await find.byProof(callback.gateway, claim.paymentProof));
  const byTransaction = await findByTransaction(find, callback.gateway, claim, named);
  const session = named ?? byTransaction;
  const byPayment = await findByPayment(find, callback.gateway, claim, session);
  if (session === undefined) return resolved(byPayment);
  if (byTransaction !== undefined && byTransaction.id !== session.id) {
    return mismatch(session, 'its session_id and its transaction id name different sessions');
  }
  if (byPayment !== undefined && byPayment.id !== session.id) {
    const by = named === undefined ? 'transaction id' : 'session_id';
    return mismatch(session, `its ${by} and its payment id name different sessions`);
  }
  return { kind: 'session', session };
}

async function findClaimed(find: FindSession, callback: Resolvable): Promise<StoredSession | undefined> {
  const id = claimedSessionId(callback);
  return callback.claimedSession ?? (id === undefined ? undefined : find.byId(id));
}

/** Reads nothing if the session found before has this transaction id. The next function does the same. */
async function findByTransaction(
  find: FindSession,
  gateway: string,
  { merchantTransactionId: id }: CallbackClaim,
  found: StoredSession | undefined,
): Promise<StoredSession | undefined> {
  if (!id) return undefined;
  return found?.merchantTransactionId === id ? found : find.byTransaction(gateway, id);
}

async function findByPayment(
  find: FindSession,
  gateway: string,
  { providerPaymentId: id }: CallbackClaim,
  found: StoredSession | undefined,
): Promise<StoredSession | undefined> {
  if (!id) return undefined;
  return found?.providerPaymentId === id ? found : find.byPayment(gateway, id);
}

function paidBy(session: StoredSession | undefined): Resolution {
  return session === undefined
    ? { kind: 'unresolved', reason: 'no session was paid by the payment it names' }
    : { kind: 'session', session };
}

function resolved(session: StoredSession | undefined): Resolution {
  return session === undefined
    ? { kind: 'unresolved', reason: 'no session has the session_id, transaction or payment id it names' }
    : { kind: 'session', session };
}

function mismatch({ id: sessionId }: StoredSession, reason: string): Resolution {
  return { kind: 'mismatch', reason, sessionId };
}
