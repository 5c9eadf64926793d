// A simulator of the payment providers: real HTTP on one port, a checkout page, and faults on request.
import { createCallbacks } from './callbacks.ts';
import { type Controls, createControls } from './controls.ts';
import { createCustomer } from './customer.ts';
import { createFaults, type FaultEvent, type RandomPlan } from './faults.ts';
import { createGatewayOne } from './gateway-one/api.ts';
import type { Store } from './gateway-one/notification.ts';
import { createGatewayTwo, type PaymentIdField, type WalletAccount } from './gateway-two/api.ts';
import { createTokens } from './gateway-two/tokens.ts';
import { createLedger } from './ledger.ts';
import { sendJson } from './misbehave.ts';
import type { Gateway } from './payment.ts';
import { CONTROL_PATH, createRequestHandler } from './requests.ts';
import { openSimulatorPort } from './simulator-port.ts';
import { createAccount, type StripeAccount } from './stripe/account.ts';
import { createStripe } from './stripe/api.ts';
import { createEvents } from './stripe/events.ts';

export type SimulatorOptions = {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** 0 means any free port; default 5098. */
  readonly port?: number;
  /** Account credentials; default SIMULATOR_CREDENTIALS. */
  readonly credentials?: SimulatorCredentials;
  /** Default: no random faults. */
  readonly plan?: RandomPlan;
  readonly onFault?: (event: FaultEvent) => void;
  /** gateway_two's spelling of the payment id; default `paymentId`. The other one is refused. */
  readonly paymentIdField?: PaymentIdField;
  /** gateway_two's token grants in an hour; default 60. */
  readonly grantsPerHour?: number;
  /** Lifetime of a gateway_two token in seconds; default 3,600. */
  readonly tokenLifetimeSeconds?: number;
  /**
   * Pauses before gateway_one posts a notification without a 2xx response again; default 1, 5 and 15 seconds.
   */
  readonly retryDelaysMs?: readonly number[];
  /** Where Stripe sends its events; default the webhook of the hub that created the last checkout session. */
  readonly stripeWebhookUrl?: string;
  /** Milliseconds since 1970; default: the system clock. */
  readonly now?: () => number;
};

export type Simulator = Controls & {
  readonly url: string;
  /** Base URLs for slots. */
  readonly urls: Readonly<Record<Gateway, string>>;
  readonly credentials: SimulatorCredentials;
  /** Stops immediately and aborts callbacks in progress. */
  close(): Promise<void>;
};

export type SimulatorCredentials = {
  readonly gateway_one: Store;
  readonly gateway_two: WalletAccount;
  readonly stripe: StripeAccount;
};

/** Default accounts of the simulator. They protect nothing. */
export const SIMULATOR_CREDENTIALS: SimulatorCredentials = {
  gateway_one: { storeId: 'simulated-store', storePassword: 'store-password' },
  gateway_two: {
    username: 'simulated-wallet',
    password: 'wallet-password',
    appKey: 'app-key',
    appSecret: 'app-secret',
  },
  stripe: { secretKey: 'sk_test_simulated', webhookSecret: 'whsec_simulated' },
};

/** @throws Error if the port is in use */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 5098, credentials = SIMULATOR_CREDENTIALS, now = Date.now } = options;
  const ledger = createLedger(now);
  const faults = createFaults(options.plan, options.onFault);
  const callbacks = createCallbacks({
    faults,
    retryDelaysMs: options.retryDelaysMs ?? [1_000, 5_000, 15_000],
  });
  const { grantsPerHour = 60, tokenLifetimeSeconds = 3_600, paymentIdField = 'paymentId' } = options;
  const baseOf = (gateway: Gateway) => `${urlOf(host, listening.port)}/${gateway}`;
  const checkoutOf = (gateway: Gateway) => (ref: string) => `${baseOf(gateway)}/checkout/${ref}`;
  const stripe = createAccount({
    ledger,
    callbacks,
    events: createEvents(credentials.stripe.webhookSecret, now),
    webhookUrl: options.stripeWebhookUrl,
    checkoutUrl: checkoutOf('stripe'),
    now,
  });
  const providers = {
    gateway_one: createGatewayOne(credentials.gateway_one, ledger, checkoutOf('gateway_one')),
    gateway_two: createGatewayTwo({
      account: credentials.gateway_two,
      tokens: createTokens(grantsPerHour, tokenLifetimeSeconds, now),
      ledger,
      paymentIdField,
      checkoutUrl: checkoutOf('gateway_two'),
    }),
    stripe: createStripe(credentials.stripe.secretKey, ledger, stripe),
  };
  const customer = createCustomer({ ledger, callbacks, providers, payLater: stripe.controls.payLater });
  const conditions = { latencyMs: 0, followedRedirects: 0 };
  const controls = createControls({
    ledger,
    faults,
    callbacks,
    customer,
    conditions,
    down: (ms, how) => listening.down(ms, how),
    stripe: stripe.controls,
  });
  const handle = createRequestHandler({ ledger, faults, customer, providers, controls, conditions });
  const listening = await openSimulatorPort(
    (request, response) => {
      handle(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendJson(response, { status: 500, json: { message: `${error}` } }); // does not reach a client that closed the connection
      });
    },
    { host, port, always: ({ url }) => url?.startsWith(CONTROL_PATH) === true },
  );
  return {
    ...controls,
    url: urlOf(host, listening.port),
    urls: {
      gateway_one: baseOf('gateway_one'),
      gateway_two: baseOf('gateway_two'),
      stripe: baseOf('stripe'),
    },
    credentials,
    async close() {
      await Promise.all([callbacks.close(), listening.close()]);
    },
  };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
