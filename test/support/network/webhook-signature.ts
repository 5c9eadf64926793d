// Verifies webhooks by Standard Webhooks 1.0, without a limit of their age: tests move the hub's clock.
import { createHmac } from 'node:crypto';
import type { ReceivedWebhook } from './webhook-receiver.ts';

/** The secrets, `whsec_…`, that signed a webhook. */
export function signersOf({ headers, body }: ReceivedWebhook, secrets: readonly string[]): string[] {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const signatures = headers['webhook-signature']?.split(' ') ?? [];
  return secrets.filter((secret) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    return signatures.includes(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  });
}
