// A token limited to an app and a slot sees no order of another app or slot, by any RPC that shows orders.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../../gen/hub/access/v1/token_service_pb.ts';
import { EventService } from '../../../../gen/hub/event/v1/event_service_pb.ts';
import { OrderService } from '../../../../gen/hub/order/v1/order_service_pb.ts';
import { transportTo } from '../../../support/hub/hub.ts';
import { SLOTS } from '../../../support/hub/payment.ts';
import { buyAndPay, createOffer, type Sales, salesOf, startSales } from '../../../support/hub/sales.ts';

describe('the orders of a limited token', () => {
  let sales: Sales;
  let token: string;
  const bought = { own: '', ofOtherSlot: '', ofOtherApp: '', last: '' };
  const sessions = { ...bought };

  before(async () => {
    sales = await startSales();
    const others = await salesOf(sales.payments);
    const pay = async (
      name: keyof typeof bought,
      ...[from, offer, request]: Parameters<typeof buyAndPay>
    ) => {
      const { order, session } = await buyAndPay(from, offer, request);
      bought[name] = order.orderId;
      sessions[name] = session.sessionId;
    };
    const pro = await createOffer(sales, 'pro');
    await pay('own', sales, pro);
    await pay('ofOtherSlot', sales, pro, { gateway: 'gateway_two' });
    await pay('ofOtherApp', others, await createOffer(others, 'pro'));
    await pay('last', sales, pro);
    await allNumbered();
    const created = await createClient(TokenService, sales.payments.hub.transport).createToken({
      role: Role.SERVICE,
      apps: [sales.app],
      slots: [SLOTS.gateway_one],
    });
    token = created.token;
  });
  after(() => sales.stop());

  const to = () => transportTo(sales.payments.hub.rpcUrl, token);
  const filters = () => [{ app: sales.app }, { slot: SLOTS.gateway_one }];

  it('are those of its app and its slot in lists of orders', async () => {
    for (const filter of filters()) {
      const { orders } = await createClient(OrderService, to()).listOrders(filter);
      expect(orders.map(({ orderId }) => orderId)).to.deep.equal([bought.last, bought.own]);
    }
  });

  it('are those of its app and its slot in lists of events', async () => {
    const events = createClient(EventService, to());
    for (const filter of filters()) {
      const { events: found } = await events.listEvents({ ...filter, types: ['order.*'] });
      expect(found.map(({ object }) => object)).to.deep.equal([bought.last, bought.own]);
    }
  });

  it('are those of its app and its slot in streams of events', async () => {
    const events = createClient(EventService, to());
    for (const filter of filters()) {
      const seen: string[] = [];
      for await (const { event } of events.watchEvents({ ...filter, types: ['order.*'], cursor: '0' })) {
        seen.push(event?.object ?? '');
        if (event?.object === bought.last) break;
      }
      expect(seen).to.deep.equal([bought.own, bought.last]);
    }
  });

  /** Events get their numbers soon after the change. */
  async function allNumbered(): Promise<void> {
    const events = createClient(EventService, sales.payments.hub.transport);
    for await (const { event } of events.watchEvents({ types: ['order.*'], cursor: '0' })) {
      if (event?.object === bought.last) return;
    }
  }
});
