// A table of orders.
import type { ComponentChildren } from 'preact';
import type { Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { ORDER_STATES } from '../../../lib/presentation/enum-names.ts';
import { ShortId } from '../components/ids.tsx';
import { StateBadge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { linkTo } from '../route.ts';

type TableProps = { readonly orders: readonly Order[]; readonly empty: ComponentChildren };

export function OrderTable({ orders, empty }: TableProps) {
  return (
    <Table
      caption="Orders"
      rows={orders}
      keyOf={({ orderId }) => orderId}
      empty={empty}
      columns={[
        { title: 'Paid', cell: ({ createdAt }) => createdAt },
        { title: 'State', cell: ({ state }) => <StateBadge of={ORDER_STATES} state={state} /> },
        { title: 'Order', cell: ({ orderId }) => <ShortId id={orderId} /> },
        {
          title: 'Offer',
          kind: 'long',
          cell: ({ quantity, offer, offerId }) => (
            <>
              {quantity} × <a href={linkTo(['offers', offerId])}>{offer}</a>
            </>
          ),
        },
        { title: 'Amount', kind: 'number', cell: ({ amount }) => amount },
        { title: 'Slot', wide: true, cell: ({ slot }) => slot },
        { title: 'Why', kind: 'long', wide: true, cell: ({ reason }) => reason },
      ]}
    />
  );
}
