// Converts offers and orders to their messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type {
  OfferSchema,
  OrderLicenseSchema,
  OrderSchema,
  OrderState,
} from '../../gen/hub/order/v1/order_pb.ts';
import { nameOf, ORDER_STATES, REFUND_POLICIES, TAKEN_BACK } from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import { moneyToProto } from '../payment/messages.ts';
import type { OrderStateName } from './entities.ts';
import { grantToProto } from './offers/grant.ts';
import type { VersionedOffer } from './offers/offer-admin.ts';
import { pricesToProto } from './offers/prices.ts';
import type { OrderLicense } from './orders/order-licenses.ts';
import type { StoredOrder } from './orders/read-orders.ts';

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
    createdAt: timestampFromDate(offer.createdAt),
    versionCreatedAt: timestampFromDate(version.createdAt),
    ...(offer.archivedAt && { archivedAt: timestampFromDate(offer.archivedAt) }),
  };
}

export function orderStateToProto(state: OrderStateName): OrderState {
  return ORDER_STATES[state];
}

/** UNSPECIFIED becomes undefined. */
export function orderStateFromProto(state: OrderState): OrderStateName | undefined {
  return nameOf(ORDER_STATES, state);
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
    createdAt: timestampFromDate(order.createdAt),
    ...(order.fulfilledAt && { fulfilledAt: timestampFromDate(order.fulfilledAt) }),
    ...(order.refundedAt && { refundedAt: timestampFromDate(order.refundedAt) }),
  };
}

function orderLicenseToProto(license: OrderLicense): MessageInitShape<typeof OrderLicenseSchema> {
  const { licenseId, expiresBefore, expiresAfter, takenBack, timeTakenMs, ...rest } = license;
  return {
    ...rest,
    licenseId: formatId('lic', licenseId),
    ...(expiresBefore && { expiresBefore: timestampFromDate(expiresBefore) }),
    ...(expiresAfter && { expiresAfter: timestampFromDate(expiresAfter) }),
    ...(takenBack && { takenBack: TAKEN_BACK[takenBack] }),
    timeTakenMs: BigInt(timeTakenMs),
  };
}
