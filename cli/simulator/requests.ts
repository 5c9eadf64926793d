// Routes a request to the control API, a checkout page or a provider operation with its fault.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { control } from './control-api.ts';
import type { Conditions, Controls } from './controls.ts';
import type { Customer } from './customer.ts';
import type { Faults } from './faults.ts';
import type { Ledger } from './ledger.ts';
import { browsePanel } from './merchant-panel.ts';
import { answerWith, sendJson } from './misbehave.ts';
import type { Gateway } from './payment.ts';
import type { Call, Provider } from './provider.ts';

export type RequestParts = {
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly customer: Customer;
  readonly providers: Readonly<Record<Gateway, Provider>>;
  readonly controls: Controls;
  readonly conditions: Conditions;
};

export const CONTROL_PATH = '/_control';

const ELSEWHERE = '/elsewhere';
const PAGE = /^\/(gateway_one|gateway_two|stripe)\/(checkout|panel)\/(\w+)$/;
const LARGEST_BODY = 64 * 1024;

export function createRequestHandler(parts: RequestParts) {
  const { ledger, faults, customer, providers, controls, conditions } = parts;
  const operations = Object.entries(providers).flatMap(([gateway, provider]) =>
    provider.operations.map((operation) => {
      const [method, path = ''] = operation.at.split(' ');
      const pattern = path.replaceAll('.', '\\.').replaceAll('{id}', '[^/]+');
      return { ...operation, method, path: new RegExp(`^/${gateway}${pattern}$`) };
    }),
  );

  const operate = async (call: Call, response: ServerResponse): Promise<void> => {
    if (call.path === ELSEWHERE) conditions.followedRedirects += 1;
    const operation = operations.find(
      ({ path, method, matches }) =>
        path.test(call.path) && method === call.method && (matches?.(call) ?? true),
    );
    if (operation === undefined) return sendJson(response, { status: 404, json: { message: 'Not Found' } });
    if (conditions.latencyMs > 0) await pause(conditions.latencyMs, undefined, { ref: false });
    const fault = faults.take(operation.name, operation.find?.(call));
    const own = fault && operation.faults?.[fault.kind];
    const perform = () => (fault && own ? own(call, fault) : operation.answer(call));
    await answerWith(own ? undefined : fault?.kind, { response, perform, elsewhere: ELSEWHERE });
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    if (body === undefined) return sendJson(response, { status: 413, json: { message: 'Too large' } });
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://simulator');
    const { method = 'GET', headers } = request;
    const call = { method, path, query, headers, body };
    if (path === CONTROL_PATH || path.startsWith(`${CONTROL_PATH}/`)) {
      const name = path.slice(CONTROL_PATH.length + 1);
      return sendJson(response, await control(controls, { name, request, body }));
    }
    const [, gateway, kind, ref] = PAGE.exec(path) ?? [];
    if (ref === undefined && !(path === '/' && method === 'GET')) return operate(call, response);
    const found = ledger.byRef(ref ?? '');
    const payment = found?.gateway === gateway ? found : undefined;
    const page =
      ref === undefined
        ? customer.lookAround()
        : kind === 'panel'
          ? browsePanel(ledger, call, payment)
          : customer.browse(call, payment);
    response.writeHead(page.status, page.headers).end(page.html);
  };
}

/** Undefined if the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LARGEST_BODY) return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}
