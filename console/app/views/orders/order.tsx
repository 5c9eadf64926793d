// One order: what was sold, and the chain from the payment to the machines.

import { ORDER_STATES } from '../../../../lib/presentation/enum-names.ts';
import { Facts } from '../../components/facts.tsx';
import { ShortId, StateBadge, WholeId } from '../../components/inline.tsx';
import { LivePage, Section } from '../../components/page.tsx';
import { EventsLink } from '../../events/events-link.tsx';
import { sentence } from '../../explain.ts';
import { useLive } from '../../live.ts';
import { OrderChain } from '../../orders/order-chain.tsx';
import { loadOrder, type OrderFacts } from '../../orders/order-facts.ts';
import { RetryOrder } from '../../orders/retry-order.tsx';
import { linkTo } from '../../route.ts';
import { useSignedIn } from '../../signed-in.ts';

const EVERY_MS = 10_000;

export function OrderView({ id }: { readonly id: string }) {
  const who = useSignedIn();
  const live = useLive(id, EVERY_MS, (signal) => loadOrder(who, id, signal));
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
