// What a provider says that PostgreSQL would not store, or not index.

import { expect } from 'chai';
import { pino } from 'pino';
import { newUuid } from '../../../../core/ids.ts';
import { createPaymentMetrics } from '../../../../core/payment/metrics.ts';
import { createSettle } from '../../../../core/payment/settlement/settle.ts';
import { type Database, openDatabase } from '../../../../core/storage/database.ts';
import { storageEntities } from '../../../../core/storage/schema/entities.ts';
import { SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { type Payments, startPayments } from '../../../support/hub/payment.ts';
import { json, type ScriptedProvider, startScriptedProvider } from '../providers/scripted-provider.ts';
import { refusal } from '../refusal.ts';

const CHECKOUT = '/gwprocess/v4/api.php';

describe('an answer that cannot be stored unchanged', () => {
  let payments: Payments;
  let provider: ScriptedProvider;
  let db: Database;
  before(async () => {
    payments = await startPayments();
    provider = await startScriptedProvider();
    db = await openDatabase({ url: payments.hub.databaseUrl, poolSize: 4, entities: storageEntities });
    await payments.admin.addSlot({
      name: 'odd',
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: provider.url,
      credentials: payments.simulator.credentials.gateway_one,
    });
  });
  after(async () => {
    await db.close();
    await payments.stop();
    await provider.close();
  });

  const create = () =>
    payments.sessions.createChargeSession({
      slot: 'odd',
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      orderReference: 'ORD-1',
    });

  it('counts as no answer with an invalid id', async () => {
    for (const sessionkey of ['a\u0000b', 'x'.repeat(256), 'a\ud800']) {
      provider.on(CHECKOUT, json({ status: 'SUCCESS', sessionkey, GatewayPageURL: 'http://127.0.0.1:1/' }));
      expect(await refusal(create()), JSON.stringify(sessionkey)).to.include({
        code: 'provider_unavailable',
      });
    }
  });

  it('can be truncated anywhere: it stays valid text', async () => {
    for (let before = 255; before <= 275; before++) {
      const failedreason = 'x'.repeat(before) + '\u{1f600}'.repeat(40);
      provider.on(CHECKOUT, json({ status: 'FAILED', failedreason }));
      expect(await refusal(create()), String(before)).to.include({ code: 'provider_refused' });
    }
  });

  it('for one payment does not delay others settled in the same tick', async () => {
    const insertSession = async (): Promise<string> => {
      const id = newUuid();
      await db.pool.query(
        `insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
                                     order_reference, customer, metadata, merchant_transaction_id, created_at, checks)
         select $1::uuid, id, 'pending', '', now(), 10000, 'BDT', '', '{}', '{}', $1::uuid::text, now(), 0
         from slot where name = 'odd'`,
        [id],
      );
      return id;
    };
    const settle = createSettle({
      pool: db.pool,
      clock: () => new Date(),
      metrics: createPaymentMetrics(createMetrics(), []),
      logger: pino({ level: 'silent' }),
      fulfill: async () => ({ events: [], changes: [] }),
      takeBack: async () => ({ events: [], changes: [] }),
      onChange: () => {},
    });
    const sessions = [await insertSession(), await insertSession(), await insertSession()];
    // The drivers refuse such a proof: this tests the settlement in case one passes.
    const proofs = ['one', 'two\u0000', 'three'];
    const outcomes = await Promise.allSettled(
      sessions.map((sessionId, index) =>
        settle({
          sessionId,
          callbackIds: [],
          steps: [],
          verdict: { kind: 'paid', gatewayTransactionId: proofs[index] ?? '', detail: 'paid' },
        }),
      ),
    );
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    const { rows } = await db.pool.query(
      'select c.status, u.id is not null as logged from charge_session c left join usage_log u on u.id = c.id where c.id = any($1) order by c.id',
      [sessions],
    );
    expect(rows).to.deep.equal([
      { status: 'success', logged: true },
      { status: 'pending', logged: false },
      { status: 'success', logged: true },
    ]);
  });
});
