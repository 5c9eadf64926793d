// Redirects browsers that come back from a checkout: to the shop, or to the hub's own order page.
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { ClientGone } from '../body/read-body.ts';
import { html, pageResponse } from '../pages/layout.ts';
import { Problem } from '../problem.ts';
import { errorCode } from '../rpc-problem.ts';
import { type Call, type Route, type RouteResponse, seeOther } from './route.ts';

/** `/v1/return/{sessionId}`, which providers send the browsers of customers to, by GET or POST. */
export function returnRoutes(transport: Transport): Route[] {
  const callbacks = createClient(CallbackService, transport);
  return [
    {
      method: 'any',
      hasForm: true,
      pattern: '/v1/return/{sessionId}',
      limited: true,
      isPage: true,
      about: { unlisted: 'for the browsers of customers, who come from the checkout' },
      handle: (call) => redirect(callbacks, call),
    },
  ];
}

/**
 * The address of the hub's own page of an order, relative to a path of three segments such as this route's:
 * the hub does not know the address that the browser uses.
 */
export function orderPageAddress(sessionId: string): string {
  return `../../orders/${encodeURIComponent(sessionId)}`;
}

/** The location depends on the stored session only: a request cannot redirect the browser to another site. */
async function redirect(callbacks: Callbacks, call: Call): Promise<RouteResponse> {
  const { method, param: sessionId } = call;
  if (!METHODS.has(method)) {
    throw new Problem('method_not_allowed', `Use ${ALLOW} here.`, { headers: ['Allow', ALLOW] });
  }
  const address = await callbacks.getReturnAddress({ sessionId }, call.rpc).catch((error: unknown) => {
    if (errorCode(error) !== 'session_unknown') throw error;
    throw new Problem('not_found', 'There is no order at this address.');
  });
  const { returnUrl, hasOrderPage, gateway } = address;
  if (method === 'POST') await deliverFields(callbacks, call, gateway);
  if (returnUrl === '' && !hasOrderPage) return FINISHED;
  return seeOther(returnUrl || orderPageAddress(sessionId));
}

type Callbacks = Client<typeof CallbackService>;

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);
const ALLOW = 'GET, HEAD, POST';

/**
 * Handles the fields of the form as a callback: the provider sends the same fields in its notification, which
 * may be lost. An error does not stop the redirect, because the notification and the sweep also confirm the
 * payment.
 */
async function deliverFields(callbacks: Callbacks, call: Call, gateway: string): Promise<void> {
  try {
    const fields = await call.readForm();
    if (Object.keys(fields).length === 0) return;
    await callbacks.receiveCallback({ gateway, method: 'POST', sessionId: call.param, fields }, call.rpc);
  } catch (error) {
    if (error instanceof ClientGone) throw error;
  }
}

/** For a session without a shop to return to and without an order. */
const FINISHED = pageResponse({
  title: 'You can close this page',
  main: html`<h1>You can close this page</h1>
<p>The payment provider tells the seller the result of your payment.</p>`,
});
