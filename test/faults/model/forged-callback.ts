// Callbacks of an attacker who knows ids but no secrets: they may at most cause a query to the provider.
import { formatId, newUuid } from '../../../core/ids.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { type Claim, callbackFields } from '../../support/hub/payment.ts';

export const FORGERIES = [
  'plain',
  'own proof', // in the format of the provider's own
  'invented proof',
  'hostile proof', // a firewall of the provider would block it
  "another's proof",
  'no session', // only the transaction or payment id
  "another's transaction",
  'unknown session',
  'odd status',
] as const;

export type Forgery = (typeof FORGERIES)[number];

export type ForgeryParts = {
  readonly claim: Claim;
  readonly session: ChargeSession;
  readonly another: ChargeSession;
  /** The provider's proof of the session's payment, or an empty string. */
  readonly proofOf: (session: ChargeSession) => string;
};

/** The fields of the callback, including `session_id`. */
export function forgedFields(
  forgery: Forgery,
  { claim, session, another, proofOf }: ForgeryParts,
): Record<string, string> {
  const plain = callbackFields(session, claim);
  switch (forgery) {
    case 'plain':
      return plain;
    case 'own proof':
      return callbackFields(session, claim, proofOf(session));
    case 'invented proof':
      return callbackFields(session, claim, 'F'.repeat(20));
    case 'hostile proof':
      return callbackFields(session, claim, "' UNION SELECT 1 -- <script>");
    case "another's proof":
      return callbackFields(session, claim, proofOf(another));
    case 'no session': {
      const { session_id: _, ...nameless } = plain;
      return nameless;
    }
    case "another's transaction":
      return { ...callbackFields(another, claim), session_id: session.sessionId };
    case 'unknown session':
      return { ...plain, session_id: formatId('chs', newUuid()) };
    case 'odd status':
      return { ...plain, status: 'UNATTEMPTED' };
  }
}

/** Whether the hub can relate the callback to the session. */
export function leadsToSession(forgery: Forgery, session: ChargeSession, another: ChargeSession): boolean {
  if (forgery === "another's transaction") return session.sessionId === another.sessionId;
  return forgery !== 'odd status';
}
