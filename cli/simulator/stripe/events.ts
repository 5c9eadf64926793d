// Builds and signs the events that Stripe sends to the webhook of an account.
import { createHmac, randomBytes } from 'node:crypto';
import type { CallbackRequest } from '../provider.ts';

/** An event as it was sent. */
export type SentEvent = { readonly id: string; readonly type: string; readonly body: string };

export type Events = ReturnType<typeof createEvents>;

const MAX_EVENTS = 10_000;

export function createEvents(webhookSecret: string, now: () => number) {
  const sent: SentEvent[] = [];

  const request = (body: string, url: string, secret: string): CallbackRequest => ({
    method: 'POST',
    url,
    body,
    // Each attempt is signed with its own time.
    headers: () => ({ 'content-type': 'application/json', 'stripe-signature': signed(body, secret, now()) }),
  });

  return {
    /** Events so far, the latest last. */
    sent: (): readonly SentEvent[] => [...sent],
    make(url: string, type: string, object: object): CallbackRequest {
      const id = `evt_${randomBytes(12).toString('hex')}`;
      const created = Math.floor(now() / 1000);
      const body = JSON.stringify({ id, object: 'event', type, created, livemode: false, data: { object } });
      sent.push({ id, type, body });
      if (sent.length > MAX_EVENTS) sent.shift();
      return request(body, url, webhookSecret);
    },
    /** An event of somebody who does not know the secret. */
    forge(url: string, type: string, object: object): CallbackRequest {
      const body = JSON.stringify({ id: 'evt_forged', object: 'event', type, data: { object } });
      return request(body, url, `whsec_${randomBytes(8).toString('hex')}`);
    },
  };
}

function signed(body: string, secret: string, nowMs: number): string {
  const time = Math.floor(nowMs / 1000);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}
