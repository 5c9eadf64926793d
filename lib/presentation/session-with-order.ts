// A charge session, its payment records and its order.
import { Code, ConnectError } from '@connectrpc/connect';
import type { Order } from '../../gen/hub/order/v1/order_pb.ts';
import type { GetOrderResponse } from '../../gen/hub/order/v1/order_service_pb.ts';
import type { InspectChargeSessionResponse } from '../../gen/hub/payment/v1/payment_service_pb.ts';

export type SessionWithOrder = Omit<InspectChargeSessionResponse, '$typeName'> & {
  /** Undefined for a session without one, and for a caller that may not see it. */
  readonly order?: Order | undefined;
};

/** Adds the order to what InspectChargeSession returned. */
export async function withOrder(
  inspected: InspectChargeSessionResponse,
  getOrder: (request: { readonly order: string }) => Promise<GetOrderResponse>,
): Promise<SessionWithOrder> {
  const { session } = inspected;
  if (session?.purchase === undefined) return inspected;
  try {
    const { order } = await getOrder({ order: session.sessionId });
    return { ...inspected, order };
  } catch (error) {
    const { code } = ConnectError.from(error);
    if (code === Code.NotFound || code === Code.PermissionDenied) return inspected;
    throw error;
  }
}
