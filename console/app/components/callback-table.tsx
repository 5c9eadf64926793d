// A table of callbacks.
import type { Callback } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES } from '../../../lib/presentation/words.ts';
import { StateBadge } from './badge.tsx';
import { ShortId } from './id.tsx';
import { Table } from './table.tsx';
import { Moment } from './timestamp.tsx';

export function CallbackTable({
  callbacks,
  empty,
}: {
  readonly callbacks: readonly Callback[];
  readonly empty: string;
}) {
  return (
    <Table
      caption="Callbacks"
      rows={callbacks}
      keyOf={({ callbackId }) => callbackId}
      empty={empty}
      columns={[
        { title: 'Received', cell: ({ receivedAt }) => <Moment at={receivedAt} /> },
        { title: 'State', cell: (it) => <StateBadge of={CALLBACK_STATES} state={it.state} /> },
        { title: 'Callback', cell: ({ callbackId }) => <ShortId id={callbackId} /> },
        { title: 'Session', wide: true, cell: ({ sessionId }) => <ShortId id={sessionId} /> },
        { title: 'Gateway', wide: true, cell: ({ gateway }) => gateway },
        { title: 'Attempts', kind: 'number', wide: true, cell: ({ attempts }) => attempts },
        { title: 'Why', kind: 'long', cell: ({ reason }) => reason },
      ]}
    />
  );
}
