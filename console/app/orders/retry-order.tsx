// Retries a blocked order, after it said what this does.
import { OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import { OrderService } from '../../../gen/hub/order/v1/order_service_pb.ts';
import { orderedText, summarizeGrant } from '../../../lib/presentation/order-text.ts';
import { Confirm } from '../components/confirm.tsx';
import { WithLinks } from '../components/inline.tsx';
import { sentence } from '../explain.ts';
import { useSignedIn } from '../signed-in.ts';
import { isReversed, type OrderFacts } from './order-facts.ts';

/** Nothing for an order that is not blocked or whose payment was reversed, or for a caller who may not retry it. */
export function RetryOrder({ facts: { order, offer, session } }: { readonly facts: OrderFacts }) {
  const { hub, may } = useSignedIn();
  if (order.state !== OrderState.BLOCKED || isReversed(session)) return null;
  if (!may(OrderService.method.retryOrder)) return null;
  const retry = async (): Promise<string> => {
    const { order: now } = await hub.orders.retryOrder({ order: order.orderId });
    if (now?.state === OrderState.FULFILLED) return 'The order is fulfilled.';
    return `The order is still blocked. ${sentence(now?.reason ?? '')}`;
  };
  const { quantity, offer: name } = order;
  const licenseId = session?.purchase?.licenseId || 'the license';
  const grant = summarizeGrant(offer?.terms?.grant ?? { case: undefined });
  return (
    <Confirm action="Retry" question="Retry this order?" run={retry}>
      <p class="value">
        The hub <WithLinks text={orderedText(grant, { quantity, offer: name, licenseId })} />, by the terms of
        version {order.offerVersion} of the offer, which the customer has paid.
      </p>
      <p>
        The order was blocked for this reason: {sentence(order.reason)} If the reason still exists, the order
        stays blocked, and nothing else changes.
      </p>
    </Confirm>
  );
}
