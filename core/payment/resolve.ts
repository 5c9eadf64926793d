// Resolves a callback to its session: by `session_id` first, then by the transaction or payment id (spec 4.3).
import type { Pool } from 'pg';
import { claimedSession, type ReceivedCallback } from './journal.ts';
import type { CallbackClaim } from './provider.ts';
import {
  readSession,
  readSessionByPayment,
  readSessionByTransaction,
  type SessionFacts,
} from './session-facts.ts';

export type Resolution =
  | { readonly kind: 'session'; readonly session: SessionFacts }
  | { readonly kind: 'unresolved'; readonly reason: string }
  /** It names a session and contradicts it: nothing may be done, and nothing is fallen back to. */
  | { readonly kind: 'mismatch'; readonly reason: string; readonly sessionId?: string };

export async function resolveSession(
  pool: Pool,
  callback: ReceivedCallback,
  claim: CallbackClaim,
): Promise<Resolution> {
  const byReference = await readByReference(pool, callback.gateway, claim);
  if (callback.claimedSessionId === undefined) {
    if (byReference !== undefined) return { kind: 'session', session: byReference };
    return { kind: 'unresolved', reason: 'no session has the transaction or payment id it names' };
  }
  const id = claimedSession(callback);
  const session = id === undefined ? undefined : await readSession(pool, id);
  if (session === undefined) {
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

async function readByReference(
  pool: Pool,
  gateway: string,
  { merchantTransactionId, providerPaymentId }: CallbackClaim,
): Promise<SessionFacts | undefined> {
  if (merchantTransactionId) return readSessionByTransaction(pool, gateway, merchantTransactionId);
  return providerPaymentId ? readSessionByPayment(pool, gateway, providerPaymentId) : undefined;
}

function contradicts(session: SessionFacts, gateway: string, claim: CallbackClaim): string | undefined {
  if (session.gateway !== gateway) return `its session_id names a session of ${session.gateway}`;
  if (claim.merchantTransactionId && claim.merchantTransactionId !== session.merchantTransactionId) {
    return 'its session_id and its transaction id name different sessions';
  }
  if (claim.providerPaymentId && claim.providerPaymentId !== session.providerPaymentId) {
    return 'its session_id and its payment id name different sessions';
  }
  return undefined;
}
