// Resolves a callback to its session: by `session_id` first, then by the transaction or payment id (spec 4.3).
import type { FindSession } from './find-session.ts';
import type { CallbackClaim } from './provider.ts';
import { claimedSession, type ReceivedCallback } from './received-callback.ts';
import type { SessionFacts } from './session-facts.ts';

export type Resolution =
  | { readonly kind: 'session'; readonly session: SessionFacts }
  | { readonly kind: 'unresolved'; readonly reason: string }
  /** It names a session and contradicts it: nothing may be done, and nothing is fallen back to. */
  | { readonly kind: 'mismatch'; readonly reason: string; readonly sessionId?: string };

export async function resolveSession(
  find: FindSession,
  callback: ReceivedCallback & { readonly claimedSession?: SessionFacts | undefined },
  claim: CallbackClaim,
): Promise<Resolution> {
  if (callback.claimedSessionId === undefined) {
    const byReference = await findByReference(find, callback.gateway, claim);
    if (byReference !== undefined) return { kind: 'session', session: byReference };
    return { kind: 'unresolved', reason: 'no session has the transaction or payment id it names' };
  }
  const id = claimedSession(callback);
  const session = callback.claimedSession ?? (id === undefined ? undefined : await find.byId(id));
  if (session === undefined) {
    const byReference = await findByReference(find, callback.gateway, claim);
    if (byReference === undefined)
      return { kind: 'unresolved', reason: 'there is no session with its session_id' };
    return {
      kind: 'mismatch',
      reason: 'its session_id names no session, but its transaction or payment id does',
    };
  }
  const contradiction = contradicts(session, callback.gateway, claim);
  if (contradiction === undefined) return { kind: 'session', session };
  return { kind: 'mismatch', reason: contradiction, sessionId: session.id };
}

async function findByReference(
  find: FindSession,
  gateway: string,
  { merchantTransactionId, providerPaymentId }: CallbackClaim,
): Promise<SessionFacts | undefined> {
  if (merchantTransactionId) return find.byTransaction(gateway, merchantTransactionId);
  return providerPaymentId ? find.byPayment(gateway, providerPaymentId) : undefined;
}

function contradicts(session: SessionFacts, gateway: string, claim: CallbackClaim): string | undefined {
  if (session.gateway !== gateway) return `its session_id names a session of ${session.gateway}`;
  if (claim.merchantTransactionId && claim.merchantTransactionId !== session.merchantTransactionId) {
    return 'its session_id and its transaction id name different sessions';
  }
  if (claim.providerPaymentId && session.providerPaymentId === undefined) {
    return 'it names a payment of the provider, and its session has none: no checkout was made';
  }
  if (claim.providerPaymentId && claim.providerPaymentId !== session.providerPaymentId) {
    return 'its session_id and its payment id name different sessions';
  }
  return undefined;
}

/**
 * Whether a callback `t` with a session_id, its gateway and what it claims (null: nothing), does not contradict its
 * `charge_session c` with the `slot s`.
 */
export const AGREES = `s.gateway = t.gateway
  and (t.transaction_id is null or t.transaction_id = c.merchant_transaction_id)
  and (t.payment_id is null or t.payment_id = c.provider_payment_id)`;
