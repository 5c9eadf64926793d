// Shows offers and orders: as messages, and orders as the objects of events.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Pool } from 'pg';
import { type OfferSchema, type OrderLicenseSchema, OrderSchema } from '../../gen/hub/order/v1/order_pb.ts';
import { ORDER_STATES, REFUND_POLICIES, TAKEN_BACK } from '../../lib/presentation/enum-names.ts';
import { type ObjectReaders, showObject } from '../event/read-objects.ts';
import { formatId } from '../ids.ts';
import { moneyToProto } from '../payment/messages.ts';
import { timestampsIn } from '../timestamp.ts';
import { grantToProto } from './offers/grant.ts';
import type { VersionedOffer } from './offers/offer-admin.ts';
import { pricesToProto } from './offers/prices.ts';
import type { OrderLicense } from './orders/order-licenses.ts';
import { readOrders, type StoredOrder } from './orders/read-orders.ts';

export function offerToProto({ offer, version }: VersionedOffer): MessageInitShape<typeof OfferSchema> {
  return {
    offerId: formatId('ofr', offer.id),
    app: offer.app.slug,
    slug: offer.slug,
    version: version.version,
    terms: {
      name: version.name,
      prices: pricesToProto(version.prices),
      grant: grantToProto(version.granted),
      pageSlot: version.pageSlot?.name ?? '',
      downloadUrl: version.downloadUrl,
      onRefund: REFUND_POLICIES[version.onRefund],
      catalogPrices: [...version.catalogPrices],
    },
    ...timestampsIn(offer, 'createdAt', 'archivedAt'),
    versionCreatedAt: timestampFromDate(version.createdAt),
  };
}

export function orderToProto(order: StoredOrder): MessageInitShape<typeof OrderSchema> {
  return {
    orderId: formatId('ord', order.id),
    sessionId: formatId('chs', order.sessionId),
    slot: order.slot,
    offer: order.offer,
    offerId: formatId('ofr', order.offerId),
    offerVersion: order.offerVersion,
    quantity: order.quantity,
    amount: moneyToProto(order.amount),
    customerId: order.customerId === null ? '' : formatId('cus', order.customerId),
    state: ORDER_STATES[order.state],
    reason: order.reason,
    licenses: order.licenses.map(orderLicenseToProto),
    ...timestampsIn(order, 'createdAt', 'fulfilledAt', 'refundedAt'),
  };
}

function orderLicenseToProto(license: OrderLicense): MessageInitShape<typeof OrderLicenseSchema> {
  const { licenseId, issued, seatsAdded, takenBack, seatsTaken, timeTakenMs } = license;
  return {
    licenseId: formatId('lic', licenseId),
    issued,
    ...timestampsIn(license, 'expiresBefore', 'expiresAfter'),
    seatsAdded,
    ...(takenBack && { takenBack: TAKEN_BACK[takenBack] }),
    seatsTaken,
    timeTakenMs: BigInt(timeTakenMs),
  };
}

export function createOrderReader(pool: Pool): Pick<ObjectReaders, 'order'> {
  return {
    async order(ids) {
      const orders = await readOrders(pool, {
        name: 'orders_by_id',
        selection: 'where o.id = any($1)',
        values: [ids],
      });
      return new Map(
        orders.map((order) => [order.id, { data: showObject(OrderSchema, orderToProto(order)) }]),
      );
    },
  };
}
