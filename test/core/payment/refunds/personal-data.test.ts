// The customer in texts of a provider about refunds: redacted where it repeats them, and removed by an erasure.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { parseId } from '../../../../core/ids.ts';
import { CustomerService } from '../../../../gen/hub/customer/v1/customer_service_pb.ts';
import { SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { RefundState } from '../../../../gen/hub/payment/v1/refund_pb.ts';
import { type Canaries, createCanaries, dumpOf } from '../../../support/hub/canaries.ts';
import { pay } from '../../../support/hub/payment.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../../support/network/webhook-receiver.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { addEndpoint, eventClient, eventsOf, RECEIVER_SETTINGS } from '../../event/event-scene.ts';
import {
  json,
  type Scripted,
  type ScriptedProvider,
  startScriptedProvider,
} from '../providers/scripted-provider.ts';
import { type RefundScene, startRefunds } from './refund-scene.ts';

const INITIATION = '/gwprocess/v4/api.php';
const VALIDATION = '/validator/api/validationserverAPI.php';
const QUERY = '/validator/api/merchantTransIDvalidationAPI.php';

describe('a refund whose provider repeats the customer', () => {
  let scene: RefundScene;
  let provider: ScriptedProvider;
  let receiver: WebhookReceiver;
  let canaries: Canaries;
  let customer: { name: string; email: string; phone: string; address: string };
  before(async () => {
    scene = await startRefunds({ settings: RECEIVER_SETTINGS });
    provider = await startScriptedProvider();
    receiver = await startWebhookReceiver();
    await addEndpoint(eventClient(scene.hub), receiver.url);
    await scene.admin.addSlot({
      name: 'repeats',
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: provider.url,
      credentials: scene.simulator.credentials.gateway_one,
    });
    for (const path of [INITIATION, VALIDATION]) provider.on(path, onward);
    provider.on(QUERY, (response, received) => {
      if (!received.query.has('refund_amount')) return onward(response, received);
      const { name, email, phone, address } = customer;
      const errorReason = `no card of ${name.toUpperCase()}, ${email.toUpperCase()}, ${phone}, ${address}`;
      return json({ APIConnect: 'DONE', status: 'failed', errorReason })(response, received);
    });
  });
  after(async () => {
    await scene?.stop();
    await provider?.close();
    await receiver?.close();
  });
  beforeEach(() => {
    canaries = createCanaries();
    customer = {
      name: canaries.make(),
      email: `${canaries.make()}@example.com`,
      phone: '01700000001',
      address: canaries.make(),
    };
  });

  /** Lets the simulator answer. */
  const onward: Scripted = async (response, { method, path, query, headers, body }) => {
    const url = new URL(`${scene.simulator.url}/gateway_one${path}?${query}`);
    const type = headers['content-type'];
    const answer = await fetch(url, {
      method,
      ...(method === 'POST' && { body }),
      ...(type && { headers: { 'content-type': type } }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  };

  const refuse = async () => {
    const { session = expect.fail('no session') } = await scene.sessions.createChargeSession({
      slot: 'repeats',
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      orderReference: 'ORD-1',
      customer,
    });
    await pay(scene, session);
    const { refund } = await scene.refunds.createRefund({ sessionId: session.sessionId, reason: 'returned' });
    const { refundId = '' } = refund ?? {};
    const read = async () => (await scene.refunds.getRefund({ refundId })).refund;
    await until(async () => (await read())?.state === RefundState.FAILED, 'the refund has failed');
    return { refundId, stateReason: (await read())?.stateReason };
  };

  it('does not repeat the customer in its reason, its calls and the audit log', async () => {
    const { stateReason } = await refuse();
    expect(stateReason).to.contain('no card of ***, ***, ***, ***');
    const [{ dump } = { dump: '' }] = await query<{ dump: string }>(
      scene.hub.databaseUrl,
      `select concat((select json_agg(r) from refund r), (select json_agg(v) from verification v),
                     (select json_agg(a) from audit_entry a)) as dump`,
    );
    expect(dump).to.contain('no card of ***');
    expect(canaries.found(dump.toLowerCase())).to.deep.equal([]);
  });

  it('keeps nothing of the customer after an erasure, nor do its events', async () => {
    const { hub } = scene;
    const customers = createClient(CustomerService, hub.transport);
    const { name, email } = customer;
    const { customerId = '' } = (await customers.createCustomer({ name, email })).customer ?? {};
    const { refundId } = await refuse();
    // In a form that the hub does not recognize in the answer: a former name, which the provider still has.
    const former = canaries.make();
    const updateMask = { paths: ['name'] };
    await customers.updateCustomer({ customerId, name: former, updateMask });
    await customers.updateCustomer({ customerId, name, updateMask });
    const id = parseId('rfd', refundId);
    await query(
      hub.databaseUrl,
      `with changed as (
         update refund set state_reason = 'no card of ' || upper($2), review_reason = 'asks for ' || $2,
                           reviewed_at = now()
         where id = $1 returning id, slot_id)
       insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
       select 'refund.failed', array[id], array[null::uuid], array[slot_id], now() from changed`,
      [id, former],
    );
    await eventsOf(eventClient(hub), refundId, 3);
    const about = () =>
      query<{ text: string }>(
        hub.databaseUrl,
        'select lower(data::text) as text from event_data d join event e on e.id = d.event_id where e.object_id = $1',
        [id],
      );
    expect(JSON.stringify(await about())).to.contain(former);
    await customers.eraseCustomer({ customerId });
    expect(await about()).to.deep.equal([]);
    const { refund } = await scene.refunds.getRefund({ refundId });
    expect(refund).to.include({ stateReason: 'erased', reviewReason: 'erased', reason: 'returned' });
    expect(canaries.found((await dumpOf(hub.databaseUrl)).toLowerCase())).to.deep.equal([]);
  });
});
