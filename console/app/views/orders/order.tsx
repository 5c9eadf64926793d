// One order: what was sold, and the chain from the payment to the machines.
import { OrderState } from '../../../../gen/hub/order/v1/order_pb.ts';
import { ORDER_STATES } from '../../../../lib/presentation/enum-names.ts';
import { orderedText, summarizeGrant } from '../../../../lib/presentation/order-text.ts';
import { Confirm } from '../../components/confirm.tsx';
import { Facts } from '../../components/facts.tsx';
import { ShortId, WholeId, WithLinks } from '../../components/ids.tsx';
import { LivePage, Section } from '../../components/page.tsx';
import { StateBadge } from '../../components/state-badges.tsx';
import { EventsLink } from '../../events/events-link.tsx';
import { sentence } from '../../explain-error.ts';
import { OrderChain } from '../../orders/order-chain.tsx';
import { isReversed, loadOrder, type OrderFacts } from '../../orders/order-facts.ts';
import { useLive } from '../../poll-hub.ts';
import { linkTo } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

export function OrderView({ id }: { readonly id: string }) {
  const who = useSignedIn();
  const live = useLive(id, 10_000, (signal) => loadOrder(who, id, signal));
  return (
    <LivePage
      title="Order"
      live={live}
      beside={({ order }) => (
        <>
          <StateBadge of={ORDER_STATES} state={order.state} />
          <EventsLink object={order.orderId} scope={{ slot: order.slot }} />
        </>
      )}
      actions={(facts) => <RetryOrder facts={facts} />}
    >
      {(facts) => (
        <>
          {facts.order.reason !== '' && <p class="lead">{sentence(facts.order.reason)}</p>}
          <SoldFacts facts={facts} />
          <Section title="From the payment to the machines">
            <OrderChain facts={facts} />
          </Section>
        </>
      )}
    </LivePage>
  );
}

function SoldFacts({ facts: { order, offer } }: { readonly facts: OrderFacts }) {
  const { orderId, offerId, offerVersion, quantity, amount, customerId } = order;
  const { createdAt, fulfilledAt, refundedAt } = order;
  return (
    <Facts
      facts={[
        ['Order', <WholeId key="id" id={orderId} />],
        [
          'Offer',
          <>
            <a href={linkTo(['offers', offerId], { version: String(offerVersion) })}>{order.offer}</a>,
            version {offerVersion}
          </>,
        ],
        ['Name of the offer', offer?.terms?.name],
        ['Quantity', quantity],
        ['Amount', amount],
        ['Customer', customerId && <ShortId id={customerId} />],
        ['Paid', createdAt],
        ['Fulfilled', fulfilledAt],
        ['Refunded', refundedAt],
      ]}
    />
  );
}

/** Nothing for an order that is not blocked or whose payment was reversed, or for a caller who may not retry it. */
function RetryOrder({ facts: { order, offer, session } }: { readonly facts: OrderFacts }) {
  const { hub, may } = useSignedIn();
  if (order.state !== OrderState.BLOCKED || isReversed(session)) return null;
  if (!may('orders.retryOrder')) return null;
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
