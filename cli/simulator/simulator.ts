// A simulator of both payment providers: real HTTP on one port, a checkout page, and faults on request.
import { createCallbacks } from './callbacks.ts';
import { type Controls, createControls } from './controls.ts';
import { createCustomer } from './customer.ts';
import { createFaults, type FaultEvent, type RandomPlan } from './faults.ts';
import { openFront } from './front.ts';
import { createGatewayOne } from './gateway-one.ts';
import type { Store } from './gateway-one-notification.ts';
import { createGatewayTwo, type PaymentIdField, type WalletAccount } from './gateway-two.ts';
import { createTokens } from './gateway-two-tokens.ts';
import { createLedger, type Gateway } from './ledger.ts';
import { sendJson } from './misbehave.ts';
import { CONTROL_PATH, createRequestHandler } from './requests.ts';

export type SimulatorOptions = {
  /** 127.0.0.1 if not given. */
  readonly host?: string;
  /** 0 = any; 5098 if not given. */
  readonly port?: number;
  /** What merchants have to know; SIMULATOR_CREDENTIALS if not given. */
  readonly credentials?: SimulatorCredentials;
  /** No random faults if not given. */
  readonly plan?: RandomPlan;
  /** Told of each fault as it happens. */
  readonly onFault?: (event: FaultEvent) => void;
  /** gateway_two's spelling; `paymentId` if not given. The other one is refused. */
  readonly paymentIdField?: PaymentIdField;
  /** gateway_two's token grants in an hour; 60 if not given. */
  readonly grantsPerHour?: number;
  /** How long a token of gateway_two is good, in seconds; 3 600 if not given. */
  readonly tokenLifetimeSeconds?: number;
  /** Pauses before gateway_one posts a notification again that got no 2xx; 1, 5 and 15 seconds if not given. */
  readonly retryDelaysMs?: readonly number[];
  /** How long an answer to a callback may take; 10 seconds if not given. */
  readonly callbackTimeoutMs?: number;
  /** Milliseconds since 1970; the system's clock if not given. */
  readonly now?: () => number;
};

export type Simulator = Controls & {
  readonly url: string;
  /** The base URL of a slot. */
  readonly gatewayOneUrl: string;
  readonly gatewayTwoUrl: string;
  readonly credentials: SimulatorCredentials;
  /** Stops at once: callbacks under way are cut off. */
  close(): Promise<void>;
};

export type SimulatorCredentials = { readonly gateway_one: Store; readonly gateway_two: WalletAccount };

/** The accounts a simulator has if it is given none. They protect nothing. */
export const SIMULATOR_CREDENTIALS: SimulatorCredentials = {
  gateway_one: { storeId: 'simulated-store', storePassword: 'store-password' },
  gateway_two: {
    username: 'simulated-wallet',
    password: 'wallet-password',
    appKey: 'app-key',
    appSecret: 'app-secret',
  },
};

/** @throws Error if the port is taken */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 5098, credentials = SIMULATOR_CREDENTIALS, now = Date.now } = options;
  const ledger = createLedger(now);
  const faults = createFaults(options.plan, options.onFault);
  const callbacks = createCallbacks({
    faults,
    retryDelaysMs: options.retryDelaysMs ?? [1_000, 5_000, 15_000],
    timeoutMs: options.callbackTimeoutMs ?? 10_000,
  });
  const tokens = createTokens({
    grantsPerHour: options.grantsPerHour ?? 60,
    lifetimeSeconds: options.tokenLifetimeSeconds ?? 3_600,
    now,
  });
  const baseOf = (gateway: Gateway) => `${urlOf(host, front.port)}/${gateway}`;
  const checkoutUrl = (gateway: Gateway, ref: string) => `${baseOf(gateway)}/checkout/${ref}`;
  const providers = {
    gateway_one: createGatewayOne({
      store: credentials.gateway_one,
      ledger,
      checkoutUrl: (ref) => checkoutUrl('gateway_one', ref),
    }),
    gateway_two: createGatewayTwo({
      account: credentials.gateway_two,
      tokens,
      ledger,
      paymentIdField: options.paymentIdField ?? 'paymentId',
      checkoutUrl: (ref) => checkoutUrl('gateway_two', ref),
    }),
  };
  const customer = createCustomer({ ledger, callbacks, providers });
  const conditions = { latencyMs: 0, followedRedirects: 0 };
  const controls = createControls({
    ledger,
    faults,
    callbacks,
    customer,
    conditions,
    down: (ms, how) => front.down(ms, how),
  });
  const handle = createRequestHandler({ ledger, faults, customer, providers, controls, conditions });
  const front = await openFront(
    (request, response) => {
      handle(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendJson(response, { status: 500, json: { message: `${error}` } }); // lost on who has hung up
      });
    },
    { host, port, always: ({ url }) => url?.startsWith(CONTROL_PATH) === true },
  );
  return {
    ...controls,
    url: urlOf(host, front.port),
    gatewayOneUrl: baseOf('gateway_one'),
    gatewayTwoUrl: baseOf('gateway_two'),
    credentials,
    async close() {
      await Promise.all([callbacks.close(), front.close()]);
    },
  };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
