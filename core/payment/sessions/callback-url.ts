// Builds the URLs that the hub gives a provider.
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import type { SessionSlot } from './find-slot.ts';

/** Where providers reach the gateway. */
export type GatewayAddress = {
  /** HUB_PUBLIC_URL; undefined if it is not set. */
  readonly publicUrl: string | undefined;
  /** The gateway's own address; undefined if it runs in another process. */
  readonly localUrl: () => string | undefined;
};

/**
 * The base URL for the provider of a slot. Without HUB_PUBLIC_URL, only a simulator on this machine can call
 * back: any other provider would get a loopback address that is its own.
 *
 * @throws HubError `public_url_unset`
 */
export function callbackBase(
  { publicUrl, localUrl }: GatewayAddress,
  { environment, baseUrl }: Pick<SessionSlot, 'environment' | 'baseUrl'>,
): string {
  const base = publicUrl ?? (isLocal({ environment, baseUrl }) ? localUrl() : undefined);
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

/** Where the browser goes after the checkout, from a provider that sends its notification itself. */
export function browserUrl(base: string, sessionId: string): string {
  return `${base}/v1/return/${formatId('chs', sessionId)}`;
}

/** Whether the provider of a slot is a simulator on this machine. */
export function isLocal({ environment, baseUrl }: Pick<SessionSlot, 'environment' | 'baseUrl'>): boolean {
  return environment === 'sandbox' && isLoopback(baseUrl);
}

/** Whether a URL leads to this machine. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
