// Checks where a customer's browser may return to after the checkout.
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import { isLocal, isLoopback } from './callback-url.ts';
import type { SessionSlot } from './find-slot.ts';

/**
 * Returns the address to store; null for an empty one. The slot has to allow the origin. A slot of a
 * simulator on this machine also allows this machine, for development.
 *
 * @throws HubError `return_url_refused`
 */
export function checkReturnUrl(
  returnUrl: string,
  slot: Pick<SessionSlot, 'environment' | 'baseUrl' | 'returnOrigins'>,
): string | null {
  if (returnUrl === '') return null;
  const url = URL.parse(returnUrl);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw refused('write an absolute address that begins with https:// or http://, without a user name');
  }
  if (url.searchParams.has('session_id')) {
    throw refused('leave session_id out of the query: the hub adds it');
  }
  const isAllowed = slot.returnOrigins.includes(url.origin) || (isLocal(slot) && isLoopback(returnUrl));
  if (!isAllowed) throw refused(`the slot does not allow the origin ${url.origin}: add it to the slot`);
  return url.href;
}

/** The address of a shop with the session's id in its query. @param sessionId a UUID */
export function withSessionId(returnUrl: string, sessionId: string): string {
  const url = new URL(returnUrl);
  url.searchParams.set('session_id', formatId('chs', sessionId));
  return url.href;
}

function refused(message: string): HubError {
  return new HubError('return_url_refused', message, { field: 'returnUrl' });
}
