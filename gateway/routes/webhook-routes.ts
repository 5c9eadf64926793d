// The endpoints that payment providers call back: strict parsing, one RPC, and its response.
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { type FormFields, parseForm } from '../body/form.ts';
import { fieldProblem } from '../problem.ts';
import { orderPageAddress } from './return-routes.ts';
import { type Call, type Route, type RouteResponse, rpcOptions } from './routes.ts';

/**
 * `/v1/webhooks/{gateway}`, served by the CallbackService behind `transport`. Only that service knows the
 * gateways and the HTTP method of each. Not limited: providers call from few addresses, and none of their
 * calls may be lost.
 */
export function webhookRoutes(transport: Transport): Route[] {
  const callbacks = createClient(CallbackService, transport);
  return [
    {
      method: 'any',
      pattern: '/v1/webhooks/{gateway}',
      limited: false,
      fieldNames: { session_id: 'session_id' },
      about: {
        tag: 'Payment callbacks',
        rpc: CallbackService.method.receiveCallback,
        problems: ['invalid_request', 'callback_malformed', 'overloaded', 'unavailable'],
      },
      handle: (call) => receive(callbacks, call),
    },
  ];
}

/** Continues after the client disconnects, so that the callback is journaled. */
async function receive(callbacks: Client<typeof CallbackService>, call: Call): Promise<RouteResponse> {
  const query = parseForm(call.query);
  const { session_id: sessionId, ...others } = query;
  const request = { gateway: call.param, method: call.method, ...(sessionId !== undefined && { sessionId }) };
  const fields = call.method === 'POST' ? await formBeside(query, call) : others;
  const { body, contentType, returnUrl, orderSessionId } = await callbacks.receiveCallback(
    { ...request, fields },
    rpcOptions(call),
  );
  const next = returnUrl || (orderSessionId && orderPageAddress(orderSessionId));
  // The provider expects this response, and the browser that brings the callback goes on from it.
  return { status: 200, contentType, body, ...(next && { headers: ['Refresh', `0; url=${next}`] }) };
}

/** The fields of a POST are those of its form. One that the query has too could be meant either way. */
async function formBeside(query: FormFields, { readForm }: Call): Promise<FormFields> {
  const form = await readForm();
  const twice = Object.keys(query).find((name) => name in form);
  if (twice !== undefined) throw fieldProblem(twice, 'must be in the query or in the form, not in both');
  return form;
}
