// One license: its terms, its seats, and what the caller may do with it.

import type { License, Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import type { ListOrdersResponse } from '../../../gen/hub/order/v1/order_service_pb.ts';
import { periodText } from '../../../lib/presentation/calendar.ts';
import { LICENSE_STATES } from '../../../lib/presentation/enum-names.ts';
import { Confirm } from '../components/confirm.tsx';
import { Facts, pairFacts } from '../components/facts.tsx';
import { WholeId } from '../components/ids.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { StateBadge } from '../components/state-badges.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Moment } from '../components/times.tsx';
import { limitsText, Seats } from '../components/values.tsx';
import { EventsLink } from '../events/events-link.tsx';
import { LicenseActions } from '../licensing/license-actions.tsx';
import { OrderTable } from '../orders/order-table.tsx';
import { useLive } from '../poll-hub.ts';
import { linkTo, useRoute } from '../route.ts';
import { canSeeOrders, type SignedIn, useSignedIn } from '../sign-in-state.ts';

export function LicenseView({ id }: { readonly id: string }) {
  const who = useSignedIn();
  const { licenses, orders } = who.hub;
  const { after: pageToken = '', released = '' } = useRoute().query;
  const withReleased = released !== '';
  const live = useLive(`${id} ${pageToken} ${released}`, 10_000, async (signal) => {
    const [{ license }, seats, page] = await Promise.all([
      licenses.getLicense({ licenseId: id }, { signal }),
      licenses.listSeats({ licenseId: id, includeReleased: withReleased, pageToken }, { signal }),
      canSeeOrders(who) ? orders.listOrders({ licenseId: id }, { signal }) : undefined,
    ]);
    if (license === undefined) throw new Error('the hub returned no license');
    return { license, seats, orders: page };
  });
  return (
    <LivePage
      title="License"
      live={live}
      beside={({ license }) => (
        <>
          <StateBadge of={LICENSE_STATES} state={license.state} />
          <EventsLink object={id} scope={license} />
        </>
      )}
      actions={({ license }) => <LicenseActions license={license} />}
    >
      {(data) => (
        <>
          <LicenseFacts license={data.license} />
          <Section
            title="Seats"
            beside={
              <a href={linkTo(['licenses', id], { released: withReleased ? '' : 'shown' })}>
                {withReleased ? 'Hide released seats' : 'Show released seats too'}
              </a>
            }
          >
            <Table
              caption="Seats"
              rows={data.seats.seats}
              keyOf={({ seatId }) => seatId}
              empty="No machine has a seat."
              columns={seatColumns(who, withReleased)}
            />
            <Pager next={data.seats.nextPageToken} />
          </Section>
          {data.orders && <Orders id={id} page={data.orders} />}
        </>
      )}
    </LivePage>
  );
}

function LicenseFacts({ license }: { readonly license: License }) {
  const { customerId, validFor, suspendedAt, revokedAt, graceEndsAt } = license;
  return (
    <Facts
      facts={[
        ['License', <WholeId key="id" id={license.licenseId} />],
        ['App', license.app],
        ['Key ends with', <code key="key">{license.keyHint}</code>],
        [
          'Key',
          license.keyDerivable ? `number ${license.keyGeneration}` : 'imported; the hub cannot show it',
        ],
        [
          'Customer',
          customerId && (
            <a href={linkTo(['customers', customerId])}>{license.customer || 'erased customer'}</a>
          ),
        ],
        ['Seats', <Seats key="seats" seats={license.seats} />],
        ['Limit profile', license.limitProfile],
        ['Limits', limitsText(license.limits)],
        ['Features', license.features.join(', ')],
        ['Offline lease', license.leaseDays === undefined ? 'no bound' : `${license.leaseDays} days`],
        ['Valid', validFor && `${periodText(validFor)} from the first activation`],
        ['Expires', !validFor && <Moment key="expires" at={license.expiresAt} none="never" />],
        ['Grace ends', graceEndsAt],
        ['Last active', license.lastActiveOn ?? 'never'],
        ['Terms version', license.termsVersion],
        ['Issued', license.createdAt],
        ['Suspended', suspendedAt],
        ['Why suspended', license.suspendReason],
        ['Revoked', revokedAt],
        ['Reason', license.revokeReason],
        ...pairFacts(license.metadata, 'Metadata: '),
        ['Signed metadata', license.signedMetadata.join(', ')],
      ]}
    />
  );
}

type OrdersProps = { readonly id: string; readonly page: ListOrdersResponse };

/** The orders that issued or changed the license. */
function Orders({ id, page: { orders, nextPageToken } }: OrdersProps) {
  return (
    <Section title="Orders">
      <OrderTable orders={orders} empty="No order issued or changed this license." />
      {nextPageToken !== '' && (
        <p>
          <a href={linkTo(['orders'], { license: id, span: 'all' })}>All orders of this license</a>
        </p>
      )}
    </Section>
  );
}

function seatColumns({ hub, may }: SignedIn, withReleased: boolean): Column<Seat>[] {
  const release = async ({ seatId }: Seat): Promise<string> => {
    await hub.licenses.releaseSeat({ seatId });
    return 'The seat is released.';
  };
  const columns: Column<Seat>[] = [
    {
      title: 'Machine',
      kind: 'long',
      cell: (seat) => seat.machineLabel || <code>{seat.machineFingerprint}</code>,
    },
    { title: 'Version', wide: true, cell: ({ appVersion }) => appVersion },
    { title: 'Activated', wide: true, cell: ({ activatedAt }) => activatedAt },
    { title: 'Last seen', kind: 'named', cell: ({ lastSeenAt }) => lastSeenAt },
  ];
  if (withReleased) {
    columns.push({ title: 'Released', kind: 'named', cell: ({ releasedAt }) => <Moment at={releasedAt} /> });
  }
  if (may('licenses.releaseSeat')) {
    columns.push({
      title: 'Action',
      cell: (seat) =>
        seat.releasedAt === undefined && (
          <Confirm action="Release" question="Release this seat?" dangerous run={() => release(seat)}>
            <p>
              The machine <b>{seat.machineLabel || seat.machineFingerprint}</b> loses its seat, and another
              can take it. A copy of the license that it keeps offline is good until its lease ends.
            </p>
          </Confirm>
        ),
    });
  }
  return columns;
}
