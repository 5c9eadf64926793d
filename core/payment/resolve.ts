// Resolves a callback to its session: by `session_id`, then by the transaction id, then by the provider's payment id or
// session key (spec 4.1 and 4.3). Verification protects a session that somebody else's callback resolves to.
import type { FindSession } from './find-session.ts';
import type { CallbackClaim } from './provider.ts';
import { claimedSession, type ReceivedCallback } from './received-callback.ts';
import type { SessionFacts } from './session-facts.ts';

export type Resolution =
  | { readonly kind: 'session'; readonly session: SessionFacts }
  | { readonly kind: 'unresolved'; readonly reason: string }
  /** It names two sessions, or one of another gateway: nothing may be done. */
  | { readonly kind: 'mismatch'; readonly reason: string; readonly sessionId?: string };

type Resolvable = ReceivedCallback & { readonly claimedSession?: SessionFacts | undefined };

/** An id that names no session is passed over: the next one counts. */
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
  const id = claimedSession(callback);
  return callback.claimedSession ?? (id === undefined ? undefined : find.byId(id));
}

/** Reads nothing if the transaction id is that of the session found before; the same holds for the payment id. */
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

/**
 * Whether all that a callback `t` claims (null: nothing) is of its `charge_session c` with the `slot s`. What does not
 * agree need not be a mismatch: resolveSession looks whether the ids name another session.
 */
export const AGREES = `s.gateway = t.gateway
  and (t.transaction_id is null or t.transaction_id = c.merchant_transaction_id)
  and (t.payment_id is null or t.payment_id = c.provider_payment_id)`;
