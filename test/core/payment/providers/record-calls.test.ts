// Secrets of a slot: in nothing that a driver says, whatever the provider does or repeats.
import { inspect } from 'node:util';
import { expect } from 'chai';
import { pino } from 'pino';
import {
  type PaymentDriver,
  type ProviderAccess,
  ProviderRefused,
} from '../../../../core/payment/providers/driver.ts';
import { DRIVERS } from '../../../../core/payment/providers/registry.ts';
import {
  hangUp,
  json,
  raw,
  type Scripted,
  type ScriptedProvider,
  silence,
  startScriptedProvider,
} from './scripted-provider.ts';
import { createTestAccess, expectedPayment, settledPayment, type TestAccess } from './test-access.ts';

// What any spelling of a canary contains.
const CANARY = 'canary7q';

const OPERATIONS: Record<string, (driver: PaymentDriver, access: ProviderAccess) => Promise<unknown>> = {
  createCheckout: (driver, access) =>
    driver.createCheckout(access, {
      sessionId: 'chs_1',
      merchantTransactionId: '01K7TRANSACTION',
      amount: { minor: 10_000n, currency: 'BDT' },
      callbackUrl: 'https://hub.example/v1/webhooks/x?session_id=chs_1',
      orderReference: 'ORD-1',
      customer: {},
    }),
  verify: (driver, access) => driver.verify(access, expectedPayment({ validationId: 'V1' })),
  'verify a paid session': (driver, access) => driver.verify(access, expectedPayment({ isPaid: true })),
  testCredentials: (driver, access) => driver.testCredentials(access),
  refund: (driver, access) => requestRefund(driver, access),
  'find refunds': (driver, access) =>
    required(driver).find(access, {
      payment: settledPayment(),
      requested: [{ reference: 'rfd_1', amount: { minor: 1n, currency: 'BDT' }, gatewayRefundId: 'REF-1' }],
    }),
};

function required({ refunds }: PaymentDriver) {
  if (refunds === undefined) throw new Error('the driver has no refunds');
  return refunds;
}

function requestRefund(driver: PaymentDriver, access: ProviderAccess, reason = 'Returned') {
  return required(driver).request(access, {
    payment: settledPayment({ bankTransactionId: 'BANK-1' }),
    reference: 'rfd_1',
    amount: { minor: 10_000n, currency: 'BDT' },
    reason,
  });
}

/** Repeats everything it was sent: query, headers and body. */
const everything: (received: Parameters<Scripted>[1]) => string = ({ query, headers, body }) =>
  [...query.values(), JSON.stringify(headers), body].join(' ');

const BEHAVIOURS: Record<string, Scripted> = {
  'hangs up': hangUp,
  'stays silent': silence,
  'answers with HTTP 500': (response, received) => raw(500, everything(received))(response, received),
  'answers with HTML': (response, received) => raw(200, `<p>${everything(received)}</p>`)(response, received),
  'refuses with HTTP 400': (response, received) =>
    json({ message: everything(received) }, 400)(response, received),
  'accepts no token': (response, received) =>
    received.path.endsWith('/token/grant')
      ? json({ id_token: `${CANARY}-token`, expires_in: 60 })(response, received)
      : json({ message: everything(received) }, 401)(response, received),
  redirects: (response, { query }) => response.writeHead(302, { location: `/elsewhere?${query}` }).end(),
  'breaks off': (response, received) => {
    response.writeHead(200, { 'content-length': '100000' }).write(everything(received));
    setImmediate(() => response.destroy());
  },
  'sends broken headers': (response, received) =>
    response.socket?.end(`HTTP/1.1 200 OK\r\n${everything(received)}\r\n\r\n`),
  'repeats them in every field of its answer': (response, received) => {
    const said = everything(received);
    const fields = [
      ...['status', 'failedreason', 'APIConnect', 'amount', 'currency', 'currency_type', 'currency_amount'],
      ...[
        'statusCode',
        'statusMessage',
        'errorCode',
        'transactionStatus',
        'id_token',
        'expires_in',
        'bkashURL',
      ],
    ];
    json(Object.fromEntries(fields.map((name) => [name, said])))(response, received);
  },
  'repeats them in the reason of its refusal': (response, received) => {
    const said = everything(received);
    const refusal = { status: 'FAILED', failedreason: said, statusCode: '2001', statusMessage: said };
    json(received.path.endsWith('/token/grant') ? { id_token: `${CANARY}-token`, expires_in: 60 } : refusal)(
      response,
      received,
    );
  },
  'repeats them in a status, behind so much text that a cut would halve them': (response, received) => {
    const said = `${'x'.repeat(270)} ${everything(received)}`;
    const answer = { ...ours, status: said, transactionStatus: said, statusCode: '0000' };
    const isGrant = received.path.endsWith('/token/grant');
    json(isGrant ? { id_token: `${CANARY}-token`, expires_in: 60 } : { ...answer, element: [answer] })(
      response,
      received,
    );
  },
  'repeats them where an amount should be': (response, received) => {
    const said = everything(received);
    const isGrant = received.path.endsWith('/token/grant');
    const answer = {
      ...ours,
      status: 'VALID',
      statusCode: '0000',
      transactionStatus: 'Completed',
      trxID: said,
    };
    const unreadable = {
      ...answer,
      amount: said,
      currency: said,
      merchantInvoice: '01K7TRANSACTION',
      val_id: said,
    };
    json(
      isGrant ? { id_token: `${CANARY}-token`, expires_in: 60 } : { ...unreadable, element: [unreadable] },
    )(response, received);
  },
};
const ours = { tran_id: '01K7TRANSACTION', paymentID: 'PAY-1', APIConnect: 'DONE' };

for (const driver of DRIVERS) {
  describe(`the credentials of ${driver.gateway}`, () => {
    let provider: ScriptedProvider;
    let access: TestAccess;

    // On a busy machine the first call would time out while it loads the client.
    before(() => Promise.all([import('undici'), import('stripe')]));
    beforeEach(async () => {
      provider = await startScriptedProvider();
      // Letters that URLs, forms and JSON each spell in their own way.
      const credentials = driver.credentials.map((name) => [name, `${CANARY} "${name}"/+&=é\\'`] as const);
      access = createTestAccess({
        baseUrl: provider.url,
        credentials: Object.fromEntries(asHeaders(driver, credentials)),
        timeoutMs: 300,
      });
    });
    afterEach(async () => {
      await provider.close();
      await access.http.close();
    });

    for (const [behaviour, scripted] of Object.entries(BEHAVIOURS)) {
      for (const [operation, run] of Object.entries(OPERATIONS)) {
        it(`stay secret when a provider ${behaviour} during ${operation}`, async () => {
          for (const path of PATHS) provider.on(path, scripted);
          const said = await run(driver, access).catch((error: unknown) => error);
          expect(provider.received.map(everything).join(), 'the provider was sent secrets').to.include(
            CANARY,
          );
          expect(access.steps, 'something was noted').to.have.length.greaterThan(0);
          for (const text of everyForm([said, ...access.steps])) expect(text).to.not.include(CANARY);
        });
      }
    }

    it('are redacted together with the reason of a refund, which may name a person', async () => {
      const repeat: Scripted = (response, received) => {
        if (received.path.endsWith('/token/grant'))
          return json({ id_token: 'T', expires_in: 60 })(response, received);
        const said = everything(received);
        const error = { type: 'invalid_request_error', message: said };
        const refusal =
          driver.gateway === 'stripe' ? { error } : { externalCode: '2072', errorMessageEn: said };
        const status = driver.gateway === 'gateway_one' ? 200 : 400;
        return json({ status: 'failed', errorReason: said, ...refusal }, status)(response, received);
      };
      for (const path of PATHS) provider.on(path, repeat);
      const reason = `${CANARY} Ada Lovelace asked for it, ${'and asked again, '.repeat(20)}`;
      const said = await requestRefund(driver, access, reason).catch((error: unknown) => error);
      expect(said).to.be.instanceOf(ProviderRefused);
      for (const text of everyForm([said, ...access.steps])) {
        expect(text).to.not.include(CANARY).and.not.include('Ada');
      }
    });

    it('stay secret when the connection is refused', async () => {
      await provider.close();
      for (const run of Object.values(OPERATIONS)) {
        const said = await run(driver, access).catch((error: unknown) => error);
        expect(said).to.be.instanceOf(Error);
        for (const text of everyForm([said, ...access.steps])) expect(text).to.not.include(CANARY);
      }
      provider = await startScriptedProvider();
    });
  });
}

const PATHS = [
  ...['/gwprocess/v4/api.php', '/validator/api/validationserverAPI.php'],
  ...[
    '/validator/api/merchantTransIDvalidationAPI.php',
    '/token/grant',
    '/create',
    '/execute',
    '/payment/status',
    '/v2/tokenized-checkout/refund/payment/transaction',
    '/v2/tokenized-checkout/refund/payment/status',
    '/v1/checkout/sessions',
    '/v1/checkout/sessions/PAY-1',
    '/v1/refunds',
    '/v1/disputes',
  ],
];

/** The others send credentials in headers, which cannot hold every letter. Stripe's secrets have a prefix. */
function asHeaders(driver: PaymentDriver, credentials: (readonly [string, string])[]) {
  if (driver.gateway === 'gateway_one') return credentials;
  return credentials.map(
    ([name, value]) => [name, `${PREFIXES[name] ?? ''}${value.replace('é', '')}`] as const,
  );
}

const PREFIXES: Readonly<Record<string, string>> = { webhookSecret: 'whsec_' };

/** All that could reach a log, an answer or a journal. */
function everyForm(values: readonly unknown[]): string[] {
  let logged = '';
  const logger = pino({ level: 'trace' }, { write: (line: string) => (logged += line) });
  const texts = values.flatMap((value) => {
    logger.error({ err: value, value }, 'said');
    const shown = inspect(value, { depth: 10, showHidden: true, getters: true });
    const chain: unknown[] = [];
    for (let each = value; each instanceof Error; each = each.cause) chain.push(each.message, each.stack);
    return [shown, JSON.stringify(value), ...chain.map(String)];
  });
  return [...texts, logged];
}
