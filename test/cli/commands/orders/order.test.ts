// The commands that show orders, retry blocked ones, and tell the history of a sale.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../../gen/hub/access/v1/token_service_pb.ts';
import { SLOTS } from '../../../support/hub/payment.ts';
import {
  blockOrder,
  buy,
  buyAndPay,
  createOffer,
  orderOf,
  reversePayment,
  type Sales,
  startSales,
} from '../../../support/hub/sales.ts';
import { activate } from '../../../support/network/rest.ts';
import { expectPrinted } from '../../expect-schema.ts';
import { runHere } from '../../run-here.ts';

describe('hubctl order', () => {
  let sales: Sales;
  let pro: string;
  before(async () => {
    sales = await startSales();
    pro = await createOffer(sales, 'pro');
  });
  after(() => sales.stop());

  const run = (words: string[]) => runHere(words, sales.payments.hub);
  /** What a command prints, as its manual describes it. */
  const json = async (line: string) => {
    const words = line.split(' ');
    const { code, stdout, stderr } = await run([...words, '--output', 'json']);
    expect({ code, stderr }, line).to.deep.equal({ code: 0, stderr: '' });
    expectPrinted(words.slice(0, 2).join(' '), JSON.parse(stdout));
    return JSON.parse(stdout);
  };
  const idsOf = async (line: string): Promise<string[]> =>
    (await json(line)).map(({ orderId }: { orderId: string }) => orderId);
  const block = () => blockOrder(sales);

  it('shows an order by its id and by that of its session', async () => {
    const { order, session } = await buyAndPay(sales, pro, { quantity: 2 });
    const shown = await json(`order show ${order.orderId}`);
    expect(shown).to.deep.include({
      orderId: order.orderId,
      state: 'fulfilled',
      offer: pro,
      quantity: 2,
      amount: '200.00',
      currency: 'BDT',
      sessionId: session.sessionId,
      slot: SLOTS.gateway_one,
      customerId: order.customerId,
    });
    expect(shown.licenses).to.deep.equal(
      order.licenses.map(({ licenseId }) => ({ licenseId, issued: true })),
    );
    expect(await json(`order show ${session.sessionId}`)).to.deep.equal(shown);
    const { stdout } = await run(['order', 'show', order.orderId]);
    expect(stdout)
      .to.match(new RegExp(`^Sold +2 × ${pro}, version 1$`, 'm'))
      .and.match(new RegExp(`^${order.licenses[0]?.licenseId} +issued`, 'm'));
    const unpaid = await buy(sales, pro);
    const { stderr } = await run(['order', 'show', unpaid.session.sessionId]);
    expect(stderr).to.contain('no paid session with an offer');
  });

  it('lists orders by each filter, and as CSV', async () => {
    const wallet = await buyAndPay(sales, pro, {
      gateway: 'gateway_two',
      customer: { name: 'Grace', email: 'grace@example.com' },
    });
    const { orderId, customerId, licenses } = wallet.order;
    const only = [orderId];
    expect(await idsOf(`order list --slot ${SLOTS.gateway_two}`)).to.deep.equal(only);
    expect(await idsOf(`order list --customer-id ${customerId}`)).to.deep.equal(only);
    expect(await idsOf(`order list --license ${licenses[0]?.licenseId}`)).to.deep.equal(only);
    expect(await idsOf('order list --max 1')).to.deep.equal(only);
    expect(await idsOf(`order list --app ${sales.app} --state fulfilled --from 2020-01-01`)).to.include(
      orderId,
    );
    expect(await idsOf('order list --to 2020-01-01')).to.deep.equal([]);
    expect(await idsOf('order list --state blocked')).to.deep.equal([]);
    const file = join(sales.payments.hub.dataDir, 'orders.csv');
    expect(await json(`order list --slot ${SLOTS.gateway_two} --out ${file}`)).to.include({ file });
    expect(await idsOf(`order list --offer ${pro} --slot ${SLOTS.gateway_two}`)).to.deep.equal([orderId]);
    expect((await run(['order', 'list', '--offer', `${sales.app}/none`])).stderr).to.contain('no such offer');
    const [header, row, ...more] = (await readFile(file, 'utf8')).trimEnd().split('\r\n');
    expect(header).to.match(/^orderId,state,offer,/);
    expect(row).to.contain(`${orderId},fulfilled,${pro},1,1,100.00,BDT,${wallet.session.sessionId},`);
    expect(more).to.deep.equal([]);
    const wrong = await run(['order', 'list', '--from', '2026-02-01', '--to', '2026-01-01']);
    expect(wrong).to.include({ code: 2, stderr: 'hubctl: --to: Give a time after --from.\n' });
  });

  it('retries a blocked order, and says if it is still blocked', async () => {
    const { orderId, licenseId } = await block();
    const still = await run(['order', 'retry', orderId]);
    expect(still.code).to.equal(1);
    expect(still.stderr).to.contain('The order is still blocked: this license has been revoked');
    await sales.payments.hub.admin.reinstateLicense({ licenseId });
    const retried = await json(`order retry ${orderId}`);
    expect(retried).to.include({ orderId, state: 'fulfilled' });
    expect(retried.licenses[0])
      .to.include({ licenseId, issued: false })
      .and.have.keys('licenseId', 'issued', 'expiresBefore', 'expiresAfter');
  });

  it('retries all blocked orders of a filter, after a preview', async () => {
    const { admin } = sales.payments.hub;
    const [one, other] = [await block(), await block()];
    await admin.reinstateLicense({ licenseId: one.licenseId });
    const both = [other.orderId, one.orderId];
    expect(await idsOf('order retry --blocked --dry-run')).to.deep.equal(both);
    expect(await idsOf('order list --state blocked')).to.deep.equal(both);
    const unasked = await run(['order', 'retry', '--blocked']);
    expect(unasked.code).to.equal(2);
    expect(unasked.stderr).to.contain('Give --yes to retry without it');

    const words = ['order', 'retry', '--blocked', '--app', sales.app, '--yes', '--output', 'json'];
    const { code, stdout, stderr } = await run(words);
    const result = JSON.parse(stdout);
    expectPrinted('order retry', result);
    expect({ code, ...result, unfulfilled: result.unfulfilled.length }).to.deep.equal({
      code: 1,
      matched: 2,
      fulfilled: 1,
      unfulfilled: 1,
    });
    expect(result.unfulfilled[0]).to.include({ orderId: other.orderId, code: 'order_blocked' });
    expect(JSON.parse(stderr).error.message).to.equal('1 of 2 blocked orders could not be fulfilled.');
    expect(await idsOf('order list --state blocked')).to.deep.equal([other.orderId]);
    expect(await json(`order retry --blocked --license ${one.licenseId}`)).to.deep.equal({
      matched: 0,
      fulfilled: 0,
      unfulfilled: [],
    });
    for (const line of [
      'order retry',
      `order retry ${one.orderId} --blocked`,
      `order retry ${one.orderId} --dry-run`,
    ])
      expect((await run(line.split(' '))).code, line).to.equal(2);
  });

  it('says that a reversed payment is not granted', async () => {
    const { orderId } = await block();
    const { sessionId } = await orderOf(sales, orderId);
    const { session } = await sales.payments.sessions.getChargeSession({ sessionId });
    if (session === undefined) throw new Error('the session is gone');
    await reversePayment(sales, session);
    const { code, stderr } = await run(['order', 'retry', orderId]);
    expect(code).to.equal(1);
    expect(stderr).to.contain('the payment of this order was refunded');
  });

  it('shows what a reversal took back, also in the history of the session', async () => {
    const { session, order } = await buyAndPay(sales, pro);
    const licenseId = order.licenses[0]?.licenseId ?? '';
    await reversePayment(sales, session);
    const refunded = await json(`order show ${order.orderId}`);
    expect(refunded).to.include({ state: 'refunded', reason: 'the provider reversed the payment' });
    expect(refunded.licenses).to.deep.equal([{ licenseId, issued: true, takenBack: 'suspended' }]);
    expect(await idsOf('order list --state refunded')).to.include(order.orderId);
    const { stdout } = await run(['session', 'inspect', session.sessionId]);
    expect(stdout).to.match(/order fulfilled .*order refunded +ord_.*license suspended +lic_/s);
  });

  it('shows payment, order, licenses and machines as one history', async () => {
    const { session, order, claimToken } = await buyAndPay(sales, pro);
    const { sessionId } = session;
    const licenseId = order.licenses[0]?.licenseId ?? '';
    const { licenses } = await sales.orders.getClaimedOrder({ sessionId, claimToken });
    for (const machine of ['Desk', 'Laptop']) {
      const { status } = await activate(
        sales.payments.hub.gatewayUrl,
        licenses[0]?.licenseKey ?? '',
        machine,
        {
          machineLabel: machine,
        },
      );
      expect(status).to.equal(200);
    }
    const history = await json(`session inspect ${sessionId}`);
    expect(history.order).to.deep.equal(await json(`order show ${sessionId}`));
    expect(history.machines.map((seat: { machineLabel: string }) => seat.machineLabel)).to.deep.equal([
      'Desk',
      'Laptop',
    ]);
    const tokens = createClient(TokenService, sales.payments.hub.transport);
    const slots = [SLOTS.gateway_one];
    const { token } = await tokens.createToken({ name: 'till', role: Role.SERVICE, slots });
    const limited = await runHere(['session', 'inspect', sessionId, '--output', 'json'], {
      rpcUrl: sales.payments.hub.rpcUrl,
      token,
    });
    expect(limited.stderr).to.equal('');
    expect(JSON.parse(limited.stdout).machines, 'of an app beyond the token').to.deep.equal([]);
    const { stdout } = await run(['session', 'inspect', sessionId]);
    const told = [
      'success ',
      'usage log ',
      `order fulfilled +${order.orderId}: 1 × ${pro}, version 1`,
      `license issued +${licenseId}`,
      `machine activated +Desk with ${licenseId}`,
      `machine activated +Laptop with ${licenseId}`,
    ];
    expect(stdout).to.match(new RegExp(told.map((line) => `Z +${line}`).join('[^]*')));
  });
});
