// Lists the duplicate payments of a session and marks them as handled.
import type { DuplicatePayment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { useSignedIn } from '../sign-in-state.ts';
import { Confirm } from './confirm.tsx';
import { Section } from './page.tsx';
import { Table } from './table.tsx';

export function Duplicates({ duplicates }: { readonly duplicates: readonly DuplicatePayment[] }) {
  const { hub, may } = useSignedIn();
  const mayResolve = may('paymentAdmin.resolveDuplicatePayment');
  const resolve = async (duplicatePaymentId: string, resolution: string): Promise<string> => {
    await hub.paymentAdmin.resolveDuplicatePayment({ duplicatePaymentId, resolution });
    return 'The duplicate payment is marked as handled.';
  };
  return (
    <Section title="Duplicate payments">
      <p>The provider reports that the customer also made these payments. They settle nothing.</p>
      <Table
        caption="Duplicate payments of this session"
        rows={duplicates}
        keyOf={({ duplicatePaymentId }) => duplicatePaymentId}
        empty="There is none."
        columns={[
          { title: 'Amount', kind: 'number', cell: ({ amount }) => amount },
          { title: 'Provider’s transaction', cell: (each) => <code>{each.gatewayTransactionId}</code> },
          { title: 'Found', wide: true, cell: ({ foundAt }) => foundAt },
          {
            title: 'Handled',
            cell: (each) =>
              each.resolvedAt !== undefined ? (
                each.resolution
              ) : mayResolve ? (
                <Confirm
                  action="Mark as handled"
                  question="Mark this duplicate payment as handled?"
                  asksReason
                  run={(reason) => resolve(each.duplicatePaymentId, reason)}
                >
                  <p>This moves no money. Refund the payment at the provider first, then describe it here.</p>
                </Confirm>
              ) : (
                'open'
              ),
          },
        ]}
      />
    </Section>
  );
}
