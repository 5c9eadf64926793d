// The endpoints that payment providers call back: strict parsing, one RPC, and its response.
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { GATEWAYS } from '../../lib/presentation/gateways.ts';
import { type FormFields, parseForm } from '../body/read-body.ts';
import { fieldProblem } from '../problem.ts';
import { orderPageAddress } from './return-routes.ts';
import type { Call, Route, RouteResponse } from './route.ts';

/** Gateways that sign the body of their callbacks, and the headers with the signature. */
const SIGNATURE_HEADERS: ReadonlyMap<string, readonly string[]> = new Map(
  GATEWAYS.flatMap(({ name, signatureHeaders }) => (signatureHeaders ? [[name, signatureHeaders]] : [])),
);

/**
 * `/v1/webhooks/{gateway}`, served by the CallbackService behind `transport`. Only that service knows the HTTP
 * method of each gateway. Not limited: providers call from few addresses, and none of their
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
  const signature = SIGNATURE_HEADERS.get(call.param);
  const content =
    signature !== undefined && call.method === 'POST'
      ? await signedBody(call, signature)
      : await fieldsOf(call);
  const { body, contentType, returnUrl, orderSessionId } = await callbacks.receiveCallback(
    { gateway: call.param, method: call.method, ...content },
    call.rpc,
  );
  const next = returnUrl || (orderSessionId && orderPageAddress(orderSessionId));
  // The provider expects this response, and the browser that brings the callback goes on from it.
  return { status: 200, contentType, body, ...(next && { headers: ['Refresh', `0; url=${next}`] }) };
}

/** The raw body. The query is not signed, so nothing is read from it. */
async function signedBody({ readRawJson, headers: all }: Call, names: readonly string[]) {
  const headers = names.flatMap((name) => {
    const value = all[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { body: await readRawJson(), headers: Object.fromEntries(headers) };
}

async function fieldsOf(call: Call) {
  const query = parseForm(call.query);
  const { session_id: sessionId, ...others } = query;
  const fields = call.method === 'POST' ? await formBeside(query, call) : others;
  return { fields, ...(sessionId !== undefined && { sessionId }) };
}

/** The fields of a POST are those of its form. One that the query has too could be meant either way. */
async function formBeside(query: FormFields, { readForm }: Call): Promise<FormFields> {
  const form = await readForm();
  const twice = Object.keys(query).find((name) => name in form);
  if (twice !== undefined) throw fieldProblem(twice, 'must be in the query or in the form, not in both');
  return form;
}
