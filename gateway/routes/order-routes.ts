// The order endpoint: returns the result of a session and its license keys to a shop.
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { OrderState } from '../../gen/hub/order/v1/order_pb.ts';
import { type GetClaimedOrderResponse, OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import { ChargeStatus } from '../../gen/hub/payment/v1/payment_pb.ts';
import { nameOf, ORDER_STATES } from '../../lib/presentation/enum-names.ts';
import type { GuessLimit } from '../limits/guess-limit.ts';
import { ORDER_OPERATION } from './order-openapi.ts';
import type { Call, Route, RouteResponse } from './route.ts';

/** `/v1/orders/{sessionId}`, served by the OrderService behind `transport`. */
export function orderRoutes(transport: Transport, guesses: GuessLimit | undefined): Route[] {
  const orders = createClient(OrderService, transport);
  return [
    {
      method: 'GET',
      pattern: '/v1/orders/{sessionId}',
      limited: true,
      rate: 'order',
      crossOrigin: true,
      about: ORDER_OPERATION,
      handle: (call) =>
        readClaimed(orders, guesses, call, bearerOf(call), (order) => ({
          status: 200,
          contentType: 'application/json',
          body: JSON.stringify(resultOf(order)),
        })),
    },
  ];
}

/**
 * Reads the order of the session in the path and shows it. Counts wrong tokens per client only: nobody can lock out the
 * shop of another customer.
 */
export function readClaimed(
  orders: Client<typeof OrderService>,
  guesses: GuessLimit | undefined,
  call: Call,
  claimToken: string,
  show: (order: GetClaimedOrderResponse) => RouteResponse,
): Promise<RouteResponse> {
  const { client, param: sessionId } = call;
  const read = async () => show(await orders.getClaimedOrder({ sessionId, claimToken }, call.rpc));
  return guesses === undefined ? read() : guesses.guard({ client, subject: `claim/${client}` }, 'read', read);
}

export type OrderStatus = 'pending' | 'paid' | 'failed' | 'cancelled' | 'refunded';

/** A cancelled session with an order was paid before. A session stays paid when its payment is refunded. */
export function statusOf({ status, orderId, orderState }: GetClaimedOrderResponse): OrderStatus {
  if (orderState === OrderState.REFUNDED) return 'refunded';
  if (status === ChargeStatus.SUCCESS) return 'paid';
  if (status === ChargeStatus.FAILED) return 'failed';
  if (status === ChargeStatus.CANCELLED) return orderId === '' ? 'cancelled' : 'refunded';
  return 'pending';
}

function resultOf(order: GetClaimedOrderResponse): object {
  const { orderId, orderState, licenses } = order;
  const status = statusOf(order);
  const shown = status === 'paid' ? licenses : [];
  return {
    ok: true,
    status,
    licenses: shown.map(({ licenseId, licenseKey }) => ({ licenseId, licenseKey })),
    ...(orderId !== '' && {
      orderId,
      orderState: nameOf(ORDER_STATES, orderState) ?? 'blocked',
    }),
  };
}

/** The credentials of the Bearer scheme (RFC 6750 section 2.1); empty if there are none. */
function bearerOf({ headers: { authorization = '' } }: Call): string {
  return /^Bearer +([A-Za-z0-9._~+/=-]{1,200})$/i.exec(authorization)?.[1] ?? '';
}
