// Signs events as Stripe does.
import { createHmac } from 'node:crypto';

export const WEBHOOK_SECRET = 'whsec_0123456789abcdef';

/** The value of the header `stripe-signature`. */
export function signEvent(
  body: string,
  { secret = WEBHOOK_SECRET, at = new Date() }: { readonly secret?: string; readonly at?: Date } = {},
): string {
  const seconds = Math.floor(at.getTime() / 1000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}
