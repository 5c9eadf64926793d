// Names of the metadata that mark the checkout sessions and refunds of the hub at Stripe.

/** The hub's id of the session, `chs_…`. */
export const HUB_SESSION = 'hub_session';
/** The merchant's transaction id of the session. */
export const HUB_TRANSACTION = 'hub_transaction';
/** The hub's id of the refund, `rfd_…`. */
export const HUB_REFUND = 'hub_refund';
