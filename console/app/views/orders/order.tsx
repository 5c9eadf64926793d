// One order: what was sold, and the chain from the payment to the machines.

import { ORDER_STATES } from '../../../../lib/presentation/words.ts';
import { Amount } from '../../components/amount.tsx';
import { StateBadge } from '../../components/badge.tsx';
import { Facts } from '../../components/facts.tsx';
import { ShortId, WholeId } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Moment } from '../../components/timestamp.tsx';
import { EventsLink } from '../../events/events-link.tsx';
import { sentence } from '../../explain.ts';
import { useLive } from '../../live.ts';
import { OrderChain } from '../../orders/order-chain.tsx';
import { loadOrder, type OrderFacts } from '../../orders/order-facts.ts';
import { RetryOrder } from '../../orders/retry-order.tsx';
import { linkTo } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 10_000;

export function OrderView({ who, id }: { readonly who: SignedIn; readonly id: string }) {
  const live = useLive(id, EVERY_MS, (signal) => loadOrder(who, id, signal));
  const order = live.data?.order;
  return (
    <Page
      title="Order"
      beside={
        order && (
          <>
            <StateBadge of={ORDER_STATES} state={order.state} />
            <EventsLink who={who} object={order.orderId} scope={{ slot: order.slot }} />
          </>
        )
      }
      actions={live.data && <RetryOrder who={who} facts={live.data} onDone={live.refresh} />}
    >
      <Loaded live={live}>
        {(facts) => (
          <>
            {facts.order.reason !== '' && <p class="lead">{sentence(facts.order.reason)}</p>}
            <SoldFacts facts={facts} />
            <section aria-labelledby="chain">
              <h2 id="chain">From the payment to the machines</h2>
              <OrderChain facts={facts} />
            </section>
          </>
        )}
      </Loaded>
    </Page>
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
        ['Amount', <Amount key="amount" money={amount} />],
        ['Customer', customerId && <ShortId id={customerId} />],
        ['Paid', <Moment key="paid" at={createdAt} />],
        ['Fulfilled', fulfilledAt && <Moment key="fulfilled" at={fulfilledAt} />],
        ['Refunded', refundedAt && <Moment key="refunded" at={refundedAt} />],
      ]}
    />
  );
}
