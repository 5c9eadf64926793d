// One license: its terms, its seats, and what the caller may do with it.
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import type { ListOrdersResponse } from '../../../gen/hub/order/v1/order_service_pb.ts';
import { LICENSE_STATES } from '../../../lib/presentation/words.ts';
import { StateBadge } from '../components/badge.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Moment } from '../components/timestamp.tsx';
import { EventsLink } from '../events/events-link.tsx';
import { LicenseActions } from '../licensing/license-actions.tsx';
import { LicenseFacts } from '../licensing/license-facts.tsx';
import { useLive } from '../live.ts';
import { OrderTable } from '../orders/order-table.tsx';
import { canCall, canSeeOrders } from '../permissions.ts';
import { linkTo, useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 10_000;

type LicenseProps = { readonly who: SignedIn; readonly id: string };

export function LicenseView({ who, id }: LicenseProps) {
  const { licenses } = who.hub;
  const { query } = useRoute();
  const { after = '', released = '' } = query;
  const live = useLive(`${id} ${after} ${released}`, EVERY_MS, async (signal) => {
    const [{ license }, seats, orders] = await Promise.all([
      licenses.getLicense({ licenseId: id }, { signal }),
      licenses.listSeats({ licenseId: id, includeReleased: released !== '', pageToken: after }, { signal }),
      canSeeOrders(who.caller) ? who.hub.orders.listOrders({ licenseId: id }, { signal }) : undefined,
    ]);
    return { license, seats, orders };
  });
  const license = live.data?.license;
  return (
    <Page
      title="License"
      beside={
        license && (
          <>
            <StateBadge of={LICENSE_STATES} state={license.state} />
            <EventsLink who={who} object={id} scope={license} />
          </>
        )
      }
      actions={license && <LicenseActions who={who} license={license} onDone={live.refresh} />}
    >
      <Loaded live={live}>
        {(data) => (
          <>
            {data.license && <LicenseFacts license={data.license} />}
            <section aria-labelledby="seats">
              <div class="section-head">
                <h2 id="seats">Seats</h2>
                <a href={linkTo(['licenses', id], { released: released === '' ? 'shown' : '' })}>
                  {released === '' ? 'Show released seats too' : 'Hide released seats'}
                </a>
              </div>
              <Table
                caption="Seats"
                rows={data.seats.seats}
                keyOf={({ seatId }) => seatId}
                empty="No machine has a seat."
                columns={seatColumns(who, released !== '', live.refresh)}
              />
              <Pager next={data.seats.nextPageToken} />
            </section>
            {data.orders && <Orders id={id} page={data.orders} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

type OrdersProps = { readonly id: string; readonly page: ListOrdersResponse };

/** The orders that issued or changed the license. */
function Orders({ id, page: { orders, nextPageToken } }: OrdersProps) {
  return (
    <section aria-labelledby="orders">
      <h2 id="orders">Orders</h2>
      <OrderTable orders={orders} empty="No order issued or changed this license." />
      {nextPageToken !== '' && (
        <p>
          <a href={linkTo(['orders'], { license: id, span: 'all' })}>All orders of this license</a>
        </p>
      )}
    </section>
  );
}

function seatColumns(who: SignedIn, withReleased: boolean, onDone: () => Promise<void>): Column<Seat>[] {
  const mayRelease = canCall(who.caller, LicenseAdminService.method.releaseSeat);
  const release = async ({ seatId }: Seat): Promise<string> => {
    await who.hub.licenses.releaseSeat({ seatId });
    await onDone();
    return 'The seat is released.';
  };
  return [
    {
      title: 'Machine',
      kind: 'long',
      cell: (seat) => seat.machineLabel || <code>{seat.machineFingerprint}</code>,
    },
    { title: 'Version', wide: true, cell: ({ appVersion }) => appVersion },
    { title: 'Activated', wide: true, cell: ({ activatedAt }) => <Moment at={activatedAt} /> },
    { title: 'Last seen', kind: 'named', cell: ({ lastSeenAt }) => <Moment at={lastSeenAt} /> },
    ...(withReleased
      ? [
          {
            title: 'Released',
            kind: 'named' as const,
            cell: ({ releasedAt }: Seat) => <Moment at={releasedAt} />,
          },
        ]
      : []),
    ...(mayRelease
      ? [
          {
            title: 'Action',
            cell: (seat: Seat) =>
              seat.releasedAt === undefined && (
                <Confirm action="Release" question="Release this seat?" dangerous run={() => release(seat)}>
                  <p>
                    The machine <b>{seat.machineLabel || seat.machineFingerprint}</b> loses its seat, and
                    another can take it. A copy of the license that it keeps offline is good until its lease
                    ends.
                  </p>
                </Confirm>
              ),
          },
        ]
      : []),
  ];
}
