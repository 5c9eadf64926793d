// A table of callbacks.
import type { Callback } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES } from '../../../lib/presentation/enum-names.ts';
import { ShortId } from './ids.tsx';
import { StateBadge } from './state-badges.tsx';
import { type Column, Table } from './table.tsx';

type TableProps = {
  readonly caption?: string;
  readonly callbacks: readonly Callback[];
  readonly empty: string;
  /** Omits the less important columns. */
  readonly isShort?: boolean;
};

export function CallbackTable({ caption = 'Callbacks', callbacks, empty, isShort = false }: TableProps) {
  return (
    <Table
      caption={caption}
      rows={callbacks}
      keyOf={({ callbackId }) => callbackId}
      empty={empty}
      columns={isShort ? COLUMNS.filter((column) => !DETAILS.includes(column)) : COLUMNS}
    />
  );
}

const DETAILS: readonly Column<Callback>[] = [
  { title: 'Gateway', wide: true, cell: ({ gateway }) => gateway },
  { title: 'Attempts', kind: 'number', wide: true, cell: ({ attempts }) => attempts },
];

const COLUMNS: readonly Column<Callback>[] = [
  { title: 'Received', cell: ({ receivedAt }) => receivedAt },
  { title: 'State', cell: ({ state }) => <StateBadge of={CALLBACK_STATES} state={state} /> },
  { title: 'Callback', cell: ({ callbackId }) => <ShortId id={callbackId} /> },
  { title: 'Session', wide: true, cell: ({ sessionId }) => <ShortId id={sessionId} /> },
  ...DETAILS,
  { title: 'Why', kind: 'long', cell: ({ reason }) => reason },
];
