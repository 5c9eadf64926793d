import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { type ChargeSession, SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { createCanaries, dumpOf } from '../../../support/hub/canaries.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  type GatewayName,
  journal,
  type Payments,
  pay,
  SLOTS,
  startPayments,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { readServerLog } from '../../../support/postgres/databases.ts';
import { type FakeProvider, type Heard, startProvider } from './fake-provider.ts';

describe("the secrets of a hub's payments", () => {
  const { make: canary, found } = createCanaries();
  const credentials = {
    gateway_one: { storeId: canary(), storePassword: canary() },
    gateway_two: { username: canary(), password: canary(), appKey: canary(), appSecret: canary() },
    stripe: { secretKey: canary(), webhookSecret: canary() },
  };
  const token = canary();
  const log: string[] = [];
  const answers: string[] = [];
  let payments: Payments;
  let talkative: FakeProvider;

  before(async () => {
    talkative = await startProvider(talk);
    payments = await startPayments({
      simulator: { credentials },
      settings: { callbackBudgetMs: 300 },
      log: { write: (line) => log.push(line) },
    });
  });
  after(() => talkative.close());

  it('never appear in a response, a log line or a table', async () => {
    for (const gateway of GATEWAYS) {
      await settleWithFaults(gateway);
      await haveDealingsWithATalkativeProvider(gateway);
    }
    for (const { callbackId } of await journal(payments)) {
      await said(payments.admin.getCallback({ callbackId }));
      await said(payments.admin.replayCallback({ callbackId }));
    }
    await said(payments.admin.listUsageLogs({}));
    await said(payments.sessions.listChargeSessions({}));
    const dump = await dumpOf(payments.hub.databaseUrl);
    await payments.stop();
    const [logged, told] = [log.join(''), answers.join('\n')];

    // What is looked for has been there: the providers heard the secrets, and repeated them to the hub.
    const heard = talkative.heard.map(({ everything }) => everything).join('\n');
    expect(found(heard)).to.have.length.at.least(7);
    expect(told).to.contain('***').and.contain('provider_refused').and.contain('the provider says VALID');
    expect(dump).to.contain('***').and.contain('sealed_token').and.contain('"gateway_transaction_id"');
    expect(logged).to.contain('callbacks wait for the next verification').and.contain('CreateChargeSession');

    expect(found(dump), 'the database').to.deep.equal([]);
    expect(found(logged), 'the log').to.deep.equal([]);
    expect(found(await readServerLog()), 'the log of PostgreSQL').to.deep.equal([]);
    expect(found(told), 'the answers').to.deep.equal([]);
  });

  /** A hostile provider that repeats all it received in its response. */
  function talk({ path, everything }: Heard) {
    const reply = (body: object) => ({ body: JSON.stringify({ statusMessage: everything, ...body }) });
    if (path.includes('html')) return { status: 500, body: `<html>${everything}</html>` };
    if (path.includes('refusing'))
      return reply({ status: 'FAILED', failedreason: everything, statusCode: '2065' });
    if (path.endsWith('/token/grant'))
      return reply({ statusCode: '0000', id_token: token, expires_in: 3_600 });
    if (path.endsWith('/create'))
      return reply({
        statusCode: '0000',
        paymentID: `TR${everything.length}`,
        bkashURL: 'http://pay.example',
      });
    if (path.endsWith('/api.php'))
      return reply({ status: 'SUCCESS', sessionkey: 'KEY', GatewayPageURL: 'http://pay.example' });
    if (path.includes('validation')) return reply({ status: everything, tran_id: everything });
    return reply({ statusCode: '9999', APIConnect: everything, element: [{ status: everything }] });
  }

  async function settleWithFaults(gateway: GatewayName): Promise<void> {
    await said(createSession(payments, gateway));
    const session = await createSession(payments, gateway);
    for (const kind of ['html', 'redirect', 'truncated'] as const) {
      payments.simulator.faults.add({ kind, ref: session.providerPaymentId });
    }
    await said(pay(payments, session));
    await said(payments.sessions.recheckChargeSession({ sessionId: session.sessionId }));
    await untilStatus(payments, session, 'success', 15_000);
    await inspectAndList(session);
  }

  async function haveDealingsWithATalkativeProvider(gateway: GatewayName): Promise<void> {
    for (const mood of ['granting', 'refusing', 'html']) {
      const slot = `${SLOTS[gateway]}-${mood}`;
      await said(
        payments.admin.addSlot({
          name: slot,
          gateway,
          environment: SlotEnvironment.SANDBOX,
          baseUrl: `${talkative.url}/${mood}`,
          credentials: credentials[gateway],
        }),
      );
      await said(payments.admin.testSlot({ slot }));
      const amount = { minorUnits: 10_000n, currency: 'BDT' };
      const creating = payments.sessions.createChargeSession({ slot, amount, orderReference: 'ORD-1' });
      await said(creating);
      const { session } = await creating.catch(() => ({ session: undefined }));
      if (session === undefined) continue;
      for (const claim of ['paid', 'paid', 'failed'] as const) {
        // The provider sends the store's id in each notification.
        const store = gateway === 'gateway_one' && { store_id: credentials.gateway_one.storeId };
        const fields = { ...callbackFields(session, claim, 'PROOF'), ...store };
        await said(callBack(payments.hub.gatewayUrl, gateway, fields));
      }
      await said(payments.sessions.recheckChargeSession({ sessionId: session.sessionId }));
      await inspectAndList(session);
    }
  }

  async function inspectAndList({ sessionId }: ChargeSession): Promise<void> {
    await said(payments.sessions.inspectChargeSession({ sessionId }));
    await said(payments.admin.listCallbacks({ sessionId }));
  }

  /** Keeps all that a caller gets to see, refusals too. */
  async function said(call: Promise<unknown>): Promise<void> {
    const answer = await call.catch((thrown) => {
      const { code, message, details } = ConnectError.from(thrown);
      return { code, message, details: details.map((detail) => JSON.stringify(detail)) };
    });
    answers.push(JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
  }
});
