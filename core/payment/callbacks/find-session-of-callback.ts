// Finds the session of a callback by the ids that it names.
import { parseId } from '../../ids.ts';
import type { CallbackClaim } from '../providers/driver.ts';
import type { FindSession } from '../sessions/look-up-sessions.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { ReceivedCallback } from './journaled-callbacks.ts';

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
 * payment id or session key; a callback about refunds only by the payment. Skips an id that names no session.
 * A forged callback can name any session, so verification has to follow.
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
  if (claim.paymentProof) {
    const paid = await find.byProof(callback.gateway, claim.paymentProof);
    return resolved(paid, 'no session was paid by the payment it names');
  }
  const byTransaction = await findByTransaction(find, callback.gateway, claim, named);
  const session = named ?? byTransaction;
  const byPayment = await findByPayment(find, callback.gateway, claim, session);
  if (session === undefined) {
    return resolved(byPayment, 'no session has the session_id, transaction or payment id it names');
  }
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
  if (callback.claimedSession !== undefined || callback.claimedSessionId === undefined) {
    return callback.claimedSession;
  }
  const id = parseId('chs', callback.claimedSessionId);
  return id === undefined ? undefined : find.byId(id);
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

function resolved(session: StoredSession | undefined, reason: string): Resolution {
  return session === undefined ? { kind: 'unresolved', reason } : { kind: 'session', session };
}

function mismatch({ id: sessionId }: StoredSession, reason: string): Resolution {
  return { kind: 'mismatch', reason, sessionId };
}
