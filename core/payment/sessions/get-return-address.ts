// GetReturnAddress: where the browser of a customer goes after the checkout.
import type { Database } from '../../storage/database.ts';
import { withSessionId } from './check-return-url.ts';
import { findSession } from './list-sessions.ts';

/** The function rejects with HubError `session_unknown`. */
export function createGetReturnAddress(db: Database) {
  return async ({ sessionId }: { readonly sessionId: string }) => {
    const { id, returnUrl, slot, hasPurchase } = await findSession(db.em(), sessionId);
    return {
      returnUrl: returnUrl == null ? '' : withSessionId(returnUrl, id),
      gateway: slot.gateway,
      hasOrderPage: hasPurchase,
    };
  };
}
