// The address that a provider is told to call back (spec 1.3).
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import type { SessionSlot } from './session-slot.ts';

/** Where providers reach the gateway. */
export type GatewayAddress = {
  /** The base address that the outside world knows it by, if somebody has said it. */
  readonly publicUrl: string | undefined;
  /** Where it listens, if it is in this process. */
  readonly localUrl: () => string | undefined;
};

/**
 * The base address for the provider of a slot. Without a public one only a simulator on this machine can call back:
 * any other would be told an address of its own machine, and its callbacks would never come.
 *
 * @throws HubError `public_url_unset`
 */
export function callbackBase(
  { publicUrl, localUrl }: GatewayAddress,
  { environment, baseUrl }: Pick<SessionSlot, 'environment' | 'baseUrl'>,
): string {
  const isNear = environment === 'sandbox' && isLoopback(baseUrl);
  const base = publicUrl ?? (isNear ? localUrl() : undefined);
  if (base !== undefined) return base.replace(/\/+$/, '');
  throw new HubError(
    'public_url_unset',
    'set HUB_PUBLIC_URL, the address at which the provider of this slot reaches the gateway',
  );
}

/** At most 255 characters, because HUB_PUBLIC_URL has at most 180. */
export function callbackUrl(base: string, gateway: string, sessionId: string): string {
  return `${base}/v1/webhooks/${gateway}?session_id=${formatId('chs', sessionId)}`;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
