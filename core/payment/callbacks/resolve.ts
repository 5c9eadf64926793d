// Finds the session of a callback: by `session_id`, then by the transaction id, then by the provider's
// payment id or session key (spec 4.1 and 4.3). A forged callback can name any session, so verification has
// to follow.

import type { CallbackClaim } from '../providers/driver.ts';
import type { FindSession } from '../sessions/find.ts';
import type { SessionFacts } from '../sessions/row.ts';
import { claimedSessionId, type ReceivedCallback } from './claim.ts';

export type Resolution =
  | { readonly kind: 'session'; readonly session: SessionFacts }
  | { readonly kind: 'unresolved'; readonly reason: string }
  /** The callback names two sessions, or one of another gateway. */
  | { readonly kind: 'mismatch'; readonly reason: string; readonly sessionId?: string };

type Resolvable = Pick<ReceivedCallback, 'gateway' | 'claimedSessionId'> & {
  readonly claimedSession?: SessionFacts | undefined;
};

/** An id that names no session is skipped. */
export async function resolveSession(
  find: FindSession,
  callback: Resolvable,
  claim: CallbackClaim,
): Promise<Resolution> {
  const named = await findClaimed(find, callback);
  if (named !== undefined && named.gateway !== callback.gateway) {
    return mismatch(named, `its session_id names a session of ${named.gateway}`);
  }
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

async function findClaimed(find: FindSession, callback: Resolvable): Promise<SessionFacts | undefined> {
  const id = claimedSessionId(callback);
  return callback.claimedSession ?? (id === undefined ? undefined : find.byId(id));
}

/** Reads nothing if the session found before has this transaction id. The next function does the same. */
async function findByTransaction(
  find: FindSession,
  gateway: string,
  { merchantTransactionId: id }: CallbackClaim,
  found: SessionFacts | undefined,
): Promise<SessionFacts | undefined> {
  if (!id) return undefined;
  return found?.merchantTransactionId === id ? found : find.byTransaction(gateway, id);
}

async function findByPayment(
  find: FindSession,
  gateway: string,
  { providerPaymentId: id }: CallbackClaim,
  found: SessionFacts | undefined,
): Promise<SessionFacts | undefined> {
  if (!id) return undefined;
  return found?.providerPaymentId === id ? found : find.byPayment(gateway, id);
}

function resolved(session: SessionFacts | undefined): Resolution {
  return session === undefined
    ? { kind: 'unresolved', reason: 'no session has the session_id, transaction or payment id it names' }
    : { kind: 'session', session };
}

function mismatch({ id: sessionId }: SessionFacts, reason: string): Resolution {
  return { kind: 'mismatch', reason, sessionId };
}
