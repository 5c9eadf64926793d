// A table of deliveries with their states, attempts and answers.
import type { Delivery } from '../../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES } from '../../../lib/presentation/enum-names.ts';
import { StateBadge } from '../components/state-badges.tsx';
import { type Column, Table } from '../components/table.tsx';

export type DeliveryTableProps = {
  readonly caption: string;
  readonly deliveries: readonly Delivery[];
  readonly empty: string;
  /** The columns that name the endpoint or the event of each delivery. */
  readonly first: readonly Column<Delivery>[];
  readonly last?: readonly Column<Delivery>[];
};

export function DeliveryTable({ caption, deliveries, empty, first, last = [] }: DeliveryTableProps) {
  return (
    <Table
      caption={caption}
      rows={deliveries}
      keyOf={({ eventId, endpointId }) => `${eventId} ${endpointId}`}
      empty={empty}
      columns={[
        ...first,
        { title: 'State', cell: ({ state }) => <StateBadge of={DELIVERY_STATES} state={state} /> },
        { title: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
        { title: 'Last attempt', wide: true, cell: ({ lastAttemptAt }) => lastAttemptAt },
        { title: 'Next attempt', kind: 'named', cell: ({ nextAttemptAt }) => nextAttemptAt },
        {
          title: 'Took',
          kind: 'number',
          cell: ({ lastAttemptAt, durationMs }) => lastAttemptAt && `${durationMs} ms`,
        },
        { title: 'Answer', kind: 'long', cell: (delivery) => <Answer delivery={delivery} /> },
        ...last,
      ]}
    />
  );
}

/** The problem or the status of the last attempt, and the start of the body. */
export function Answer({ delivery }: { readonly delivery: Delivery }) {
  const { responseStatus, responseBody, problem } = delivery;
  return (
    <>
      {problem || (responseStatus > 0 && `status ${responseStatus}`)}
      {responseBody !== '' && (
        <details>
          <summary>Start of the answer</summary>
          <pre>{responseBody}</pre>
        </details>
      )}
    </>
  );
}
