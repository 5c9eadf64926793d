// OrderService: reads orders, retries blocked ones, and serves the pages of customers.
import type { ServiceImpl } from '@connectrpc/connect';
import type { OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import { CHARGE_STATUSES, nameOf, ORDER_STATES } from '../../lib/presentation/enum-names.ts';
import { actorOf, scopeOf } from '../access/caller.ts';
import { formatId } from '../ids.ts';
import { readTimestamp } from '../timestamp.ts';
import type { createGetClaimedOrder } from './claims/claimed-order.ts';
import { orderToProto } from './messages.ts';
import { pricesToProto } from './offers/prices.ts';
import type { Orders } from './orders/order-admin.ts';
import type { createOfferPage } from './purchases/page-purchases.ts';

export type OrderServiceOptions = ReturnType<typeof createOfferPage> & {
  readonly orders: Orders;
  readonly getClaimedOrder: ReturnType<typeof createGetClaimedOrder>;
};

export function createOrderService(options: OrderServiceOptions): ServiceImpl<typeof OrderService> {
  const { orders, getClaimedOrder, getOfferPage, buyOffer } = options;
  return {
    async getOrder({ order }) {
      return { order: orderToProto(await orders.get(order)) };
    },

    async listOrders(request, context) {
      const { createdFrom, createdTo } = request;
      const filter = {
        ...request,
        state: nameOf(ORDER_STATES, request.state),
        createdFrom: createdFrom && readTimestamp('createdFrom', createdFrom),
        createdTo: createdTo && readTimestamp('createdTo', createdTo),
        scope: scopeOf(context),
      };
      const { items, nextPageToken } = await orders.list(filter, request);
      return { orders: items.map(orderToProto), nextPageToken };
    },

    async retryOrder({ order }, context) {
      return { order: orderToProto(await orders.retry(order, actorOf(context))) };
    },

    async getClaimedOrder({ sessionId, claimToken }) {
      const { status, order, licenses, returnUrl = '' } = await getClaimedOrder(sessionId, claimToken);
      return {
        status: CHARGE_STATUSES[status],
        ...(order && {
          orderId: formatId('ord', order.id),
          orderState: ORDER_STATES[order.state],
          offerName: order.offerName,
          appName: order.appName,
          downloadUrl: order.downloadUrl,
        }),
        licenses: licenses.map((each) => ({ ...each, licenseId: formatId('lic', each.licenseId) })),
        returnUrl,
      };
    },

    async getOfferPage({ offer }) {
      const { appName, offerName, prices } = await getOfferPage(offer);
      return { appName, offerName, prices: pricesToProto(prices) };
    },

    async buyOffer(request, context) {
      return buyOffer(request, actorOf(context));
    },
  };
}
