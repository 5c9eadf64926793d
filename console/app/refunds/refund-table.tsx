// A table of refunds and disputes, with the button that marks one as reviewed.
import type { Refund } from '../../../gen/hub/payment/v1/refund_pb.ts';
import {
  REFUND_KINDS,
  REFUND_ORIGINS,
  REFUND_STATES,
  wordFor,
} from '../../../lib/presentation/enum-names.ts';
import { Confirm } from '../components/confirm.tsx';
import { ShortId } from '../components/ids.tsx';
import { StateBadge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { sentence } from '../explain-error.ts';
import { useSignedIn } from '../sign-in-state.ts';

type TableProps = { readonly refunds: readonly Refund[]; readonly empty: string };

export function RefundTable({ refunds, empty }: TableProps) {
  return (
    <Table
      caption="Refunds"
      rows={refunds}
      keyOf={({ refundId }) => refundId}
      empty={empty}
      columns={[
        { title: 'Created', cell: ({ createdAt }) => createdAt },
        { title: 'State', cell: ({ state }) => <StateBadge of={REFUND_STATES} state={state} /> },
        { title: 'Amount', kind: 'number', cell: ({ amount }) => amount },
        { title: 'Session', cell: ({ sessionId }) => <ShortId id={sessionId} /> },
        {
          title: 'Kind',
          cell: ({ kind, origin }) =>
            `${wordFor(REFUND_KINDS, kind)}, by the ${wordFor(REFUND_ORIGINS, origin)}`,
        },
        { title: 'Reason', kind: 'long', wide: true, cell: ({ reason }) => reason },
        { title: 'Why', kind: 'long', wide: true, cell: ({ stateReason }) => stateReason },
        { title: 'Review', kind: 'long', cell: (refund) => <Review refund={refund} /> },
      ]}
    />
  );
}

function Review({ refund }: { readonly refund: Refund }) {
  const { hub, may } = useSignedIn();
  const { refundId, reviewReason, reviewedAt, resolution } = refund;
  if (reviewReason === '') return null;
  if (reviewedAt !== undefined) return <>{resolution}</>;
  const resolve = async (text: string): Promise<string> => {
    await hub.refunds.resolveRefund({ refundId, resolution: text });
    return 'The refund is marked as reviewed.';
  };
  return (
    <>
      <p>{sentence(reviewReason)}</p>
      {may('refunds.resolveRefund') && (
        <Confirm action="Mark as reviewed" question="Mark this refund as reviewed?" asksReason run={resolve}>
          <p>
            {sentence(reviewReason)} This moves no money, and changes no license. Do what is needed first,
            then describe it here.
          </p>
        </Confirm>
      )}
    </>
  );
}
