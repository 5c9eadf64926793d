// The endpoints that payment providers call back: strict parsing, one RPC, and the answer it gives.
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { type FormFields, parseForm } from '../body/form.ts';
import { fieldProblem } from '../problem.ts';
import type { Answer, Call, Route } from './routes.ts';

/**
 * `/v1/webhooks/{gateway}`, answered by the CallbackService behind `transport`. It alone knows the gateways and the
 * method each calls back by. Not limited: providers call from few addresses, and none of their calls may be lost.
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

/** Not given up when the client leaves: the callback has to be journaled. */
async function receive(callbacks: Client<typeof CallbackService>, call: Call): Promise<Answer> {
  const query = parseForm(call.query);
  const { session_id: sessionId, ...others } = query;
  const request = { gateway: call.param, method: call.method, ...(sessionId !== undefined && { sessionId }) };
  const fields = call.method === 'POST' ? await formBeside(query, call) : others;
  const { body, contentType } = await callbacks.receiveCallback(
    { ...request, fields },
    { headers: { 'x-request-id': call.requestId } },
  );
  return { status: 200, contentType, body };
}

/** The fields of a POST are those of its form. One that the query has too could be meant either way. */
async function formBeside(query: FormFields, { readForm }: Call): Promise<FormFields> {
  const form = await readForm();
  const twice = Object.keys(query).find((name) => name in form);
  if (twice !== undefined) throw fieldProblem(twice, 'must be in the query or in the form, not in both');
  return form;
}
