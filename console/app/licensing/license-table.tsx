// A table of licenses.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { LICENSE_STATES } from '../../../lib/presentation/enum-names.ts';
import { ShortId } from '../components/ids.tsx';
import { StateBadge } from '../components/state-badges.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Moment } from '../components/times.tsx';
import { Seats } from '../components/values.tsx';
import { linkTo } from '../route.ts';

type LicenseTableProps = {
  readonly licenses: readonly License[];
  readonly empty: string;
  /** Omits the customer, where all have the same. */
  readonly ofOneCustomer?: boolean;
};

export function LicenseTable({ licenses, empty, ofOneCustomer = false }: LicenseTableProps) {
  return (
    <Table
      caption="Licenses"
      rows={licenses}
      keyOf={({ licenseId }) => licenseId}
      empty={empty}
      columns={COLUMNS.filter((column) => !ofOneCustomer || column !== CUSTOMER)}
    />
  );
}

const CUSTOMER: Column<License> = {
  title: 'Customer',
  kind: 'long',
  cell: ({ customerId, customer }) =>
    customerId === undefined ? null : (
      <a class="id" href={linkTo(['customers', customerId])}>
        {customer || 'erased customer'}
      </a>
    ),
};

const COLUMNS: readonly Column<License>[] = [
  { title: 'License', cell: ({ licenseId }) => <ShortId id={licenseId} /> },
  { title: 'State', cell: ({ state }) => <StateBadge of={LICENSE_STATES} state={state} /> },
  { title: 'Key ends', kind: 'named', cell: ({ keyHint }) => <code>{keyHint}</code> },
  { title: 'Seats', kind: 'named', cell: ({ seats }) => <Seats seats={seats} /> },
  { title: 'App', wide: true, cell: ({ app }) => app },
  CUSTOMER,
  {
    title: 'Expires',
    wide: true,
    cell: ({ expiresAt, validFor }) => (
      <Moment at={expiresAt} none={validFor ? 'after activation' : 'never'} />
    ),
  },
  { title: 'Last active', wide: true, cell: ({ lastActiveOn }) => lastActiveOn },
];
