// GetReturnAddress: where the browser of a customer goes after the checkout.
import type { Database } from '../../storage/database.ts';
import { findSession } from './queries.ts';
import { withSessionId } from './return-url.ts';

export type ReturnAddress = {
  /** With the session's id; empty if the session has none. */
  readonly returnUrl: string;
  readonly gateway: string;
  readonly hasOrderPage: boolean;
};

/** The function rejects with HubError `session_unknown`. */
export function createGetReturnAddress(db: Database) {
  return async ({ sessionId }: { readonly sessionId: string }): Promise<ReturnAddress> => {
    const { id, returnUrl, slot, hasPurchase } = await findSession(db.em(), sessionId);
    return {
      returnUrl: returnUrl == null ? '' : withSessionId(returnUrl, id),
      gateway: slot.gateway,
      hasOrderPage: hasPurchase,
    };
  };
}
