// Makes a hub sell offers, and read and mail the orders, so that the statements can be observed.
import { randomUUID } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { MailState } from '../../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import { OrderService } from '../../../gen/hub/order/v1/order_service_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { inspect, type Payments, SLOTS } from '../../support/hub/payment.ts';
import {
  blockOrder,
  buyAndPay,
  createOffer,
  restorePayment,
  reversePayment,
  salesOf,
} from '../../support/hub/sales.ts';
import { until } from '../../support/until.ts';

/** @param times how often each operation runs */
export async function driveOrders(payments: Payments, times: number): Promise<void> {
  const { hub } = payments;
  const sales = await salesOf(payments);
  const { app, orders } = sales;
  const offer = await createOffer(sales, 'pro');
  const mails = createClient(MailService, hub.transport);
  const events = createClient(EventService, hub.transport);
  const limits = { apps: [app], slots: [SLOTS.gateway_one] };
  const { token } = await createClient(TokenService, hub.transport).createToken({
    role: Role.OPERATOR,
    ...limits,
  });
  const limited = transportTo(hub.rpcUrl, token);
  const { licenseId } = await blockOrder(sales);
  await hub.admin.reinstateLicense({ licenseId });
  const renewal = await createOffer(sales, 'renewal', {
    grant: { case: 'renewal', value: { by: { days: 1 } } },
  });
  const refunds = createClient(RefundService, hub.transport);
  const untilRecorded = async (object: string) => {
    let page = await events.listEvents({ object });
    await until(async () => {
      page = await events.listEvents({ object });
      return page.events.length > 0;
    }, 'the event of the order has its number');
    return page;
  };
  for (let turn = 0; turn < times; turn++) {
    const {
      session,
      order: { orderId, customerId },
      claimToken,
    } = await buyAndPay(sales, offer, {
      customer: { name: 'Ada', email: `ada-${randomUUID()}@example.com` },
    });
    await inspect(payments, session);
    await orders.getOrder({ order: orderId });
    await orders.getClaimedOrder({ sessionId: session.sessionId, claimToken });
    await orders.retryOrder({ order: orderId });
    await orders.listOrders({ app, customerId });
    await orders.listOrders({ offer });
    await orders.listOrders({ licenseId, slot: SLOTS.gateway_one });
    await createClient(OfferService, limited).getOffer({ offer });
    await createClient(OrderService, limited).getOrder({ order: orderId });
    const renewed = await buyAndPay(sales, renewal, { licenseId, quantity: 2 });
    await reversePayment(sales, renewed.session);
    await restorePayment(sales, renewed.session);
    await refunds.createRefund({
      sessionId: renewed.session.sessionId,
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      reason: 'one of two periods',
    });
    const { events: recorded } = await untilRecorded(orderId);
    await events.getEvent({ eventId: recorded[0]?.eventId ?? '' });
    let mailId = '';
    const isSent = async (): Promise<boolean> => {
      const { mails: found } = await mails.listMails({ order: orderId });
      mailId = found[0]?.mailId ?? '';
      return found[0]?.state === MailState.SENT;
    };
    await until(isSent, 'the mail of the order is sent');
    await createClient(MailService, limited).getMail({ mailId });
    await mails.resendMail({ mailId });
    await until(isSent, 'the mail is sent again');
  }
}
