// The prices and the state of an offer.
import type { Offer } from '../../../gen/hub/order/v1/order_pb.ts';
import type { Money } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { Badge } from '../components/state-badges.tsx';
import { Amount } from '../components/values.tsx';

export function Prices({ prices }: { readonly prices: readonly Money[] }) {
  return (
    <ul class="plain">
      {prices.map((price) => (
        <li key={price.currency}>
          <Amount money={price} />
        </li>
      ))}
    </ul>
  );
}

export function OfferBadge({ offer: { archivedAt } }: { readonly offer: Offer }) {
  return archivedAt ? <Badge>archived</Badge> : <Badge tone="good">for sale</Badge>;
}
