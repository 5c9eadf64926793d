// The result of a charge session for the bearer of its claim token: status, and licenses with their keys.
import type { ChargeSession } from '../../payment/entities.ts';
import { withSessionId } from '../../payment/sessions/check-return-url.ts';
import { findSession } from '../../payment/sessions/list-sessions.ts';
import type { Database } from '../../storage/database.ts';
import type { createReadIssuedKeys, LicenseWithKey } from '../orders/issued-keys.ts';
import { readOrderOfSession, type StoredOrder } from '../orders/read-orders.ts';
import type { ClaimTokens } from './claim-tokens.ts';

export type ClaimedOrder = {
  readonly status: ChargeSession['status'];
  /** Undefined until the session is paid, and for a session without an offer. */
  readonly order: StoredOrder | undefined;
  readonly licenses: readonly LicenseWithKey[];
  /** With the session's id; undefined if the session has none. */
  readonly returnUrl: string | undefined;
};

export type ClaimedOrderOptions = {
  readonly db: Database;
  readonly claims: Pick<ClaimTokens, 'check'>;
  readonly readIssuedKeys: ReturnType<typeof createReadIssuedKeys>;
};

/** The function rejects with HubError `session_unknown` or `claim_invalid`. */
export function createGetClaimedOrder({ db, claims, readIssuedKeys }: ClaimedOrderOptions) {
  return async (sessionId: string, token: string): Promise<ClaimedOrder> => {
    const session = await findSession(db.em(), sessionId);
    const paidAt = session.status === 'success' ? session.statusChangedAt : null;
    await claims.check({ sessionId: session.id, token, paidAt });
    const order = session.hasPurchase ? await readOrderOfSession(db.pool, session.id) : undefined;
    return {
      status: session.status,
      order,
      // The money is back with the customer, so the keys are not shown.
      licenses: order && order.state !== 'refunded' ? await readIssuedKeys(order) : [],
      returnUrl: session.returnUrl == null ? undefined : withSessionId(session.returnUrl, session.id),
    };
  };
}
