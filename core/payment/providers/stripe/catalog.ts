// Reads checkout sessions that payment links created without the hub.
import type Stripe from 'stripe';
import type { CatalogCalls, CatalogSale } from '../driver.ts';
import { recordStep } from '../driver-calls.ts';
import { fromStripeAmount } from './amounts.ts';
import { findInStripe } from './client.ts';
import { HUB_SESSION } from './metadata.ts';

export const catalog: CatalogCalls = {
  priceIds: { pattern: /^price_\w+$/, example: 'price_1MoBy5LkdIwHu7ixZhnattbh' },

  findSale: (access, id) =>
    recordStep(
      access,
      'query',
      () =>
        findInStripe(access, async (stripe) =>
          readSale(id, await stripe.checkout.sessions.retrieve(id, { expand: ['line_items'] })),
        ),
      (sale) => ({
        outcome: 'pending',
        detail: sale ? `the provider sold the price ${sale.price}` : 'the provider sold no single price',
      }),
    ),
};

/** Undefined for a session that a hub created, for one of several prices, and for one without a payment. */
function readSale(id: string, session: Stripe.Checkout.Session): CatalogSale | undefined {
  const { mode, status, metadata, line_items: items, customer_details: customer } = session;
  const [item, ...others] = items?.data ?? [];
  const isSale = session.id === id && mode === 'payment' && status === 'complete' && !metadata?.[HUB_SESSION];
  if (!isSale || item === undefined || others.length > 0 || items?.has_more) return undefined;
  const { price, quantity } = item;
  const amount = fromStripeAmount(session.amount_total, session.currency);
  if (!price || !quantity || amount.minor <= 0n) return undefined;
  const { email, name } = customer ?? {};
  const reference = session.client_reference_id ?? '';
  return {
    price: price.id,
    quantity,
    amount,
    customer: { ...(email && { email }), ...(name && { name }) },
    orderReference: /^[\w-]{1,100}$/.test(reference) ? reference : '',
  };
}
