// The metrics of the event tables: numbers of endpoints, and delays of events and deliveries.
import type { Figures } from '../storage/database-metrics.ts';

const ENDPOINTS = 'hub_event_endpoints';
const UNNUMBERED = 'hub_events_unnumbered_age_seconds';
const OVERDUE = 'hub_event_deliveries_overdue_seconds';
const PENDING = 'hub_event_deliveries_pending';

const COUNTED = 10_000;

export const eventTableMetrics: Figures = {
  specs: [
    {
      name: ENDPOINTS,
      labelNames: ['state'],
      help: 'Endpoints for events: enabled, failing (enabled, and the last delivery failed) and disabled.',
    },
    {
      name: UNNUMBERED,
      help: 'Age of the oldest committed event without a number, in seconds; 0 without one.',
    },
    {
      name: OVERDUE,
      help:
        'How long the delivery that waits the longest for an attempt is overdue, in seconds; ' +
        '0 without one.',
    },
    {
      name: PENDING,
      help: `Deliveries to enabled endpoints that are not done, counted up to ${COUNTED} for each endpoint.`,
    },
  ],
  async read(client) {
    const { rows } = await client.query<Figure>({
      name: 'event_figures',
      // event_outbox_pkey, event_delivery_due_idx
      text: `with live as materialized (
               select id, disabled_at is not null as disabled, failing_since is not null as failing
               from event_endpoint where removed_at is null
             ), due as (
               select (select min(next_attempt_at) from event_delivery
                       where endpoint_id = id and state = 'pending') as at,
                      (select count(*) from (select from event_delivery
                       where endpoint_id = id and state = 'pending' limit ${COUNTED}) p) as pending
               from live where not disabled
             )
             select count(*) filter (where not disabled and not failing)::int as enabled,
                    count(*) filter (where not disabled and failing)::int as failing,
                    count(*) filter (where disabled)::int as disabled,
                    (select greatest(0, extract(epoch from now() - at))::float8
                     from event_outbox order by position limit 1) as "unnumberedSeconds",
                    (select greatest(0, extract(epoch from now() - min(at)))::float8 from due)
                      as "overdueSeconds",
                    (select sum(pending)::float8 from due) as pending
             from live`,
    });
    const [row] = rows;
    if (row === undefined) return {};
    return {
      [ENDPOINTS]: [
        { labels: { state: 'enabled' }, value: row.enabled },
        { labels: { state: 'failing' }, value: row.failing },
        { labels: { state: 'disabled' }, value: row.disabled },
      ],
      [UNNUMBERED]: row.unnumberedSeconds ?? 0,
      [OVERDUE]: row.overdueSeconds ?? 0,
      [PENDING]: row.pending ?? 0,
    };
  },
};

type Figure = {
  readonly enabled: number;
  readonly failing: number;
  readonly disabled: number;
  readonly unnumberedSeconds: number | null;
  readonly overdueSeconds: number | null;
  readonly pending: number | null;
};
