// A slot of Stripe for tests, its events, and what comes of them.

import type { SentEvent } from '../../../cli/simulator/stripe/events.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { signEvent } from '../../core/payment/providers/stripe/sign-event.ts';
import type { Payments } from './payment.ts';

export const CARD = 'card';

export async function addStripeSlot({ admin, simulator, tap }: Payments): Promise<void> {
  await admin.addSlot({
    name: CARD,
    gateway: 'stripe',
    environment: SlotEnvironment.SANDBOX,
    baseUrl: `${tap.url}/stripe`,
    credentials: simulator.credentials.stripe,
  });
}

export type Delivered = { readonly status: number; readonly body: string };

/** Sends an event again, signed now or at another time. */
export async function deliver(
  { hub, simulator }: Payments,
  { body }: Pick<SentEvent, 'body'>,
  { at = new Date(), secret = simulator.credentials.stripe.webhookSecret } = {},
): Promise<Delivered> {
  const headers = { 'content-type': 'application/json', 'stripe-signature': signEvent(body, { secret, at }) };
  const response = await fetch(`${hub.gatewayUrl}/v1/webhooks/stripe`, { method: 'POST', headers, body });
  return { status: response.status, body: await response.text() };
}
