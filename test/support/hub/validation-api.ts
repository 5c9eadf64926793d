// gateway_one in front of the simulator, with a scripted validation API.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type ChargeSession, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { Payments } from './payment.ts';

/** `hangs`: no response. */
export type ValidationAnswer = { readonly status: number; readonly body: string } | 'hangs';

export type ValidationApi = {
  /** The base address of a slot. */
  readonly url: string;
  /** The calls so far, in order: their names `validate`, `query`, `initiate`, and their queries. */
  readonly calls: readonly { readonly name: string; readonly query: string }[];
  /** The response to validations from now on. Undefined: the simulator's own response. */
  answer: (validationId: string) => ValidationAnswer | undefined;
  close(): Promise<void>;
};

const NAMES: Readonly<Record<string, string>> = {
  'validationserverAPI.php': 'validate',
  'merchantTransIDvalidationAPI.php': 'query',
  'api.php': 'initiate',
};

/** @param target the simulator's gateway_one */
export async function startValidationApi(target: string): Promise<ValidationApi> {
  const calls: { name: string; query: string }[] = [];
  const api = { answer: (): ValidationAnswer | undefined => undefined } as Pick<ValidationApi, 'answer'>;

  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const onward = request(`${target}${incoming.url}`, {
      method: incoming.method,
      headers: incoming.headers,
      agent: false, // the provider may close a kept connection just when the next call uses it
    });
    onward.end(await buffer(incoming));
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]; // the event's only argument
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://provider');
    const call = NAMES[pathname.split('/').at(-1) ?? ''] ?? pathname;
    calls.push({ name: call, query: searchParams.toString() });
    const answer = call === 'validate' ? api.answer(searchParams.get('val_id') ?? '') : undefined;
    if (answer === undefined) pass(incoming, outgoing).catch(() => outgoing.destroy());
    else if (answer !== 'hangs') outgoing.writeHead(answer.status).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  return Object.assign(api, {
    url: `http://127.0.0.1:${port}`,
    calls,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

/** The response of a firewall that blocks the request. */
export const FORBIDDEN: ValidationAnswer = {
  status: 403,
  body: '<!doctype html><title>403 Forbidden</title><h1>Request blocked</h1>',
};

const SLOT = 'validated';

/** Adds a slot at this provider, and creates sessions of 100.00 BDT. */
export async function addValidatedSlot({ admin, simulator, sessions }: Payments, { url }: ValidationApi) {
  await admin.addSlot({
    name: SLOT,
    gateway: 'gateway_one',
    environment: SlotEnvironment.SANDBOX,
    baseUrl: url,
    credentials: simulator.credentials.gateway_one,
  });
  return async (): Promise<ChargeSession> => {
    const amount = { minorUnits: 10_000n, currency: 'BDT' };
    const { session } = await sessions.createChargeSession({ slot: SLOT, amount });
    if (session === undefined) throw new Error('no session was created');
    return session;
  };
}
