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
  const { gateway } = callback;
  const named = await findClaimed(find, callback);
  if (named !== undefined && named.gateway !== gateway) {
    return mismatch(named, `its session_id names a session of ${named.gateway}`);
  }
  if (claim.paymentProof) {
    const paid = await find.byProof(gateway, claim.paymentProof);
    return resolved(paid, 'no session was paid by the payment it names');
  }
  const byTransaction = await findBy('merchantTransactionId', claim, named, (id) =>
    find.byTransaction(gateway, id),
  );
  const session = named ?? byTransaction;
  const byPayment = await findBy('providerPaymentId', claim, session, (id) => find.byPayment(gateway, id));
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

/** Finds the session by an id that the claim may have. Reads nothing if the session found before has it. */
async function findBy(
  key: 'merchantTransactionId' | 'providerPaymentId',
  claim: CallbackClaim,
  found: StoredSession | undefined,
  find: (id: string) => Promise<StoredSession | undefined>,
): Promise<StoredSession | undefined> {
  const id = claim[key];
  if (!id) return undefined;
  return found?.[key] === id ? found : find(id);
}

function resolved(session: StoredSession | undefined, reason: string): Resolution {
  return session === undefined ? { kind: 'unresolved', reason } : { kind: 'session', session };
}

function mismatch({ id: sessionId }: StoredSession, reason: string): Resolution {
  return { kind: 'mismatch', reason, sessionId };
}
