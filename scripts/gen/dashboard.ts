// Writes docs/operations/grafana-dashboard.json.
//
// Grafana 9 and later import this classic format.
import { writeFileSync } from 'node:fs';

type Query = { readonly expr: string; readonly legend: string };

type PanelSpec = {
  readonly title: string;
  readonly queries: readonly Query[];
  readonly unit: string;
  /** In columns of 24. */
  readonly width: number;
  readonly kind?: 'timeseries' | 'stat';
  readonly help?: string;
  /** Thresholds in ascending order. The first color also applies below the first threshold. */
  readonly steps?: readonly (readonly [color: string, from: number])[];
  /** Texts shown instead of values. */
  readonly words?: Readonly<Record<string, string>>;
  readonly stacked?: boolean;
};

type RowSpec = { readonly title: string; readonly panels: readonly PanelSpec[] };

const FILE = new URL('../../docs/operations/grafana-dashboard.json', import.meta.url);
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
/** All hubs of a job: for sums, and for metrics that come from the database. */
const JOB = 'job="$job"';
/** The selected processes. */
const OWN = 'job="$job",instance=~"$instance"';

const rate = (name: string, labels = JOB): string => `rate(${name}{${labels}}[$__rate_interval])`;
const q = (expr: string, legend = ''): Query => ({ expr, legend });
const by = (labels: string, expr: string): string => `sum by (${labels}) (${expr})`;
const quantile = (share: number, name: string, labels: string, filter = JOB): string =>
  `histogram_quantile(${share}, sum by (${labels ? `${labels}, ` : ''}le) (${rate(`${name}_bucket`, filter)}))`;

const ROWS: readonly RowSpec[] = [
  {
    title: 'Overview',
    panels: [
      stat('Hubs up', q(`sum(up{${JOB}})`), 'short', {
        steps: [
          ['red', 0],
          ['green', 1],
        ],
      }),
      stat('Database', q(`min(hub_database_up{${OWN}})`), 'short', {
        steps: [
          ['red', 0],
          ['green', 1],
        ],
        words: { 0: 'down', 1: 'up' },
      }),
      stat('Requests', q(`sum(${rate('hub_http_requests_total')})`), 'reqps'),
      stat(
        '5xx responses',
        q(
          `sum(${rate('hub_http_requests_total', `${JOB},status=~"5.."`)}) / sum(${rate('hub_http_requests_total')})`,
        ),
        'percentunit',
        {
          steps: [
            ['green', 0],
            ['orange', 0.01],
            ['red', 0.05],
          ],
        },
      ),
      stat(
        'Payments, last hour',
        q(`sum(increase(hub_session_status_changes_total{${JOB},status="success"}[1h]))`),
        'short',
      ),
      stat('Oldest waiting callback', q(`max(hub_callbacks_oldest_waiting_seconds{${JOB}})`), 's', {
        steps: [
          ['green', 0],
          ['orange', 600],
          ['red', 3_600],
        ],
      }),
      stat(
        'Callbacks dead, last day',
        q(`sum(increase(hub_callbacks_total{${JOB},outcome="dead"}[1d]))`),
        'short',
        {
          steps: [
            ['green', 0],
            ['red', 1],
          ],
        },
      ),
      stat('Active seats', q(`max(hub_seats{${JOB},state="active"})`), 'short'),
    ],
  },
  {
    title: 'Requests',
    panels: [
      series(
        'Requests by status',
        8,
        'reqps',
        q(by('status', rate('hub_http_requests_total')), '{{status}}'),
      ),
      series('Requests by route', 8, 'reqps', q(by('route', rate('hub_http_requests_total')), '{{route}}')),
      series(
        'License request latency',
        8,
        's',
        ...[0.5, 0.95, 0.99].map((share) =>
          q(
            quantile(
              share,
              'hub_http_request_duration_seconds',
              '',
              `${JOB},route=~"/v1/(activate|deactivate|status/.*)"`,
            ),
            `p${share * 100}`,
          ),
        ),
      ),
      series(
        'p99 latency by route',
        8,
        's',
        q(quantile(0.99, 'hub_http_request_duration_seconds', 'route'), '{{route}}'),
      ),
      series(
        'Problems by code',
        8,
        'reqps',
        q(`${by('code', rate('hub_http_problems_total'))} > 0`, '{{code}}'),
      ),
      series(
        'Rate-limited requests',
        8,
        'reqps',
        q(by('limit', rate('hub_rate_limited_total')), '{{limit}}'),
      ),
      series(
        'In progress, and connections',
        8,
        'short',
        q(by('instance', `hub_http_in_flight{${OWN}}`), 'license requests {{instance}}'),
        q(by('instance', `hub_http_connections{${OWN}}`), 'connections {{instance}}'),
        q(by('instance', `hub_rpc_in_flight{${OWN}}`), 'RPCs {{instance}}'),
        q(by('instance', `hub_rpc_connections{${OWN}}`), 'internal port connections {{instance}}'),
      ),
      series('RPCs by method', 8, 'reqps', q(by('method', rate('hub_rpc_requests_total')), '{{method}}')),
      series(
        'Failed and refused RPCs',
        8,
        'reqps',
        q(by('method, code', rate('hub_rpc_requests_total', `${JOB},code!="ok"`)), '{{method}} {{code}}'),
        q(by('status', rate('hub_rpc_refused_total')), 'refused {{status}}'),
      ),
      series(
        'p99 RPC latency by method',
        8,
        's',
        q(quantile(0.99, 'hub_rpc_request_duration_seconds', 'method'), '{{method}}'),
      ),
    ],
  },
  {
    title: 'Callbacks and sessions',
    panels: [
      series(
        'Callbacks by outcome',
        8,
        'cps',
        q(by('gateway, outcome', rate('hub_callbacks_total')), '{{gateway}} {{outcome}}'),
      ),
      series(
        'Callbacks received',
        8,
        'cps',
        q(by('gateway', rate('hub_callbacks_received_total')), '{{gateway}}'),
      ),
      series(
        'Unprocessed callbacks',
        8,
        'short',
        q(`max(hub_callbacks_waiting{${JOB}})`, 'waiting for provider'),
        q(`max(hub_callbacks_stray{${JOB}})`, 'stray'),
        q(`max(hub_callbacks_dead{${JOB}})`, 'dead'),
        q(`max(hub_sessions_held{${JOB}})`, 'payments held for review'),
        q(`max(hub_orders_blocked{${JOB}})`, 'orders blocked'),
        q(`max(hub_refunds_needing_review{${JOB}})`, 'refunds that need review'),
        q(`sum(hub_callbacks_under_way{${JOB}})`, 'in progress'),
        q(`max by (state) (hub_jobs{${JOB}})`, 'jobs {{state}}'),
      ),
      series(
        'Age of oldest unprocessed callback',
        8,
        's',
        q(`max(hub_callbacks_oldest_waiting_seconds{${JOB}})`, 'waiting for provider'),
        q(`max(hub_callbacks_oldest_stray_seconds{${JOB}})`, 'stray'),
      ),
      series('Fee drift', 8, 'percentunit', q(`max by (slot) (hub_fee_drift_ratio{${JOB}})`, '{{slot}}')),
      series(
        'Session status changes',
        8,
        'cps',
        q(by('slot', rate('hub_sessions_created_total')), '{{slot}} created'),
        q(by('slot, status', rate('hub_session_status_changes_total')), '{{slot}} {{status}}'),
      ),
      {
        ...series(
          'Pending sessions by age',
          8,
          'short',
          q(`max by (age) (hub_sessions_pending{${JOB}})`, '{{age}}'),
        ),
        stacked: true,
      },
    ],
  },
  {
    title: 'Providers',
    panels: [
      series(
        'Verification results',
        8,
        'cps',
        q(`${by('slot, result', rate('hub_verifications_total'))} > 0`, '{{slot}} {{result}}'),
      ),
      series(
        'Verification latency',
        8,
        's',
        q(quantile(0.5, 'hub_verification_duration_seconds', 'slot'), '{{slot}} p50'),
        q(quantile(0.9, 'hub_verification_duration_seconds', 'slot'), '{{slot}} p90'),
      ),
      series(
        'Queries to providers',
        8,
        'short',
        q(by('slot, state', `hub_provider_questions{${JOB}}`), '{{slot}} {{state}}'),
      ),
      series(
        'Checkouts',
        8,
        'cps',
        q(`${by('slot, result', rate('hub_checkouts_total'))} > 0`, '{{slot}} {{result}}'),
      ),
      series(
        'Checkout latency',
        8,
        's',
        q(quantile(0.9, 'hub_checkout_duration_seconds', 'slot'), '{{slot}} p90'),
      ),
      series(
        'Deferred queries',
        8,
        'cps',
        q(by('reason', rate('hub_questions_put_off_total')), '{{reason}}'),
      ),
      series('Sweep queries', 8, 'cps', q(by('result', rate('hub_sweep_questions_total')), '{{result}}')),
      series('Sweep delay', 8, 's', q(`max by (slot) (hub_sweep_overdue_seconds{${JOB}})`, '{{slot}}')),
      series(
        'Verification leases held',
        8,
        'short',
        q(by('instance', `hub_leases_held{${OWN}}`), '{{instance}}'),
      ),
    ],
  },
  {
    title: 'Licenses',
    panels: [
      series(
        'Activations and seats',
        12,
        'cps',
        q(`sum(${rate('hub_activations_total')})`, 'activations'),
        q(`sum(${rate('hub_seats_taken_total')})`, 'new seats'),
        q(by('by', rate('hub_seats_released_total')), 'released by {{by}}'),
      ),
      series(
        'Licenses and seats',
        12,
        'short',
        q(`max(hub_licenses{${JOB}})`, 'licenses'),
        q(`max by (state) (hub_seats{${JOB}})`, 'seats {{state}}'),
      ),
    ],
  },
  {
    title: 'Mails',
    panels: [
      series('Mails', 12, 'cps', q(by('result', rate('hub_mail_attempts_total')), '{{result}}')),
      series(
        'Mails that are not sent',
        6,
        'short',
        q(`max(hub_mails_queued{${JOB}})`, 'queued'),
        q(`max(hub_mails_failed{${JOB}})`, 'failed'),
      ),
      series('Age of the oldest queued mail', 6, 's', q(`max(hub_mail_queue_age_seconds{${JOB}})`, 'age')),
    ],
  },
  {
    title: 'Events',
    panels: [
      series(
        'Events and deliveries',
        8,
        'cps',
        q(`sum(${rate('hub_events_total')})`, 'events'),
        q(by('result', rate('hub_event_delivery_attempts_total')), 'deliveries {{result}}'),
      ),
      series(
        'Delivery latency',
        8,
        's',
        q(quantile(0.5, 'hub_event_delivery_duration_seconds', ''), 'p50'),
        q(quantile(0.9, 'hub_event_delivery_duration_seconds', ''), 'p90'),
      ),
      series('Endpoints', 8, 'short', q(`max by (state) (hub_event_endpoints{${JOB}})`, '{{state}}')),
      series(
        'Pending deliveries',
        12,
        'short',
        q(`max(hub_event_deliveries_pending{${JOB}})`, 'pending deliveries'),
      ),
      series(
        'Delay of events',
        12,
        's',
        q(`max(hub_events_unnumbered_age_seconds{${JOB}})`, 'oldest event without a number'),
        q(`max(hub_event_deliveries_overdue_seconds{${JOB}})`, 'most overdue delivery'),
      ),
    ],
  },
  {
    title: 'Database and Redis',
    panels: [
      series(
        'Database connections',
        8,
        'short',
        q(by('instance, state', `hub_pg_pool_connections{${OWN}}`), '{{instance}} {{state}}'),
        q(by('instance', `hub_pg_pool_waiting{${OWN}}`), '{{instance}} waiting'),
        q(by('instance', `hub_pg_pool_limit{${OWN}}`), '{{instance}} limit'),
      ),
      series(
        'Database and Redis up',
        8,
        'short',
        q(by('instance', `hub_database_up{${OWN}}`), 'database {{instance}}'),
        q(by('instance', `hub_redis_up{${OWN}}`), 'Redis {{instance}}'),
      ),
      series(
        'Requests counted in memory',
        8,
        'cps',
        q(by('instance', rate('hub_redis_fallbacks_total', OWN)), '{{instance}}'),
      ),
      series(
        'Clock offset from the database',
        8,
        's',
        q(by('instance', `hub_clock_ahead_seconds{${OWN}}`), '{{instance}}'),
      ),
      series('Partitions ahead (months)', 8, 'short', q(`min(hub_partition_months_ahead{${JOB}})`, 'months')),
    ],
  },
  {
    title: 'Tasks and audit log',
    panels: [
      series(
        'Time since last success',
        8,
        's',
        q(
          `time() - min by (task) (hub_task_last_success_timestamp_seconds{${OWN},task!="partitions"})`,
          '{{task}}',
        ),
      ),
      series('Task failures', 8, 'cps', q(by('task', rate('hub_task_failures_total')), '{{task}}')),
      series(
        'Audit log',
        8,
        'short',
        q(`max(hub_audit_unlinked_entries{${JOB}})`, 'unlinked entries'),
        q(`max(hub_audit_oldest_unlinked_seconds{${JOB}})`, 'oldest unlinked (s)'),
        q(`max(hub_audit_chain_stopped{${JOB}})`, 'chain stopped'),
        q(`max(hub_audit_head_lost{${JOB}})`, 'head lost'),
        q(`max(rate(hub_audit_chain_links{${JOB}}[$__rate_interval]))`, 'new links per second'),
      ),
    ],
  },
  {
    title: 'Processes',
    panels: [
      series('CPU', 8, 'short', q(by('instance', rate('process_cpu_seconds_total', OWN)), '{{instance}}')),
      series(
        'Event loop utilization per process',
        8,
        'percentunit',
        q(
          `${by('instance', rate('nodejs_eventloop_active_seconds_total', OWN))} / ${by('instance', `hub_workers{${OWN},state="serving"}`)}`,
          '{{instance}}',
        ),
      ),
      series(
        'Event loop delay',
        8,
        's',
        q(quantile(0.99, 'hub_event_loop_delay_seconds', 'instance', OWN), '{{instance}} p99'),
        q(quantile(0.5, 'hub_event_loop_delay_seconds', 'instance', OWN), '{{instance}} p50'),
      ),
      series(
        'Memory',
        8,
        'bytes',
        q(by('instance', `process_resident_memory_bytes{${OWN}}`), '{{instance}} resident'),
        q(by('instance', `nodejs_heap_size_used_bytes{${OWN}}`), '{{instance}} heap'),
      ),
      series(
        'File descriptors',
        8,
        'short',
        q(by('instance', `process_open_fds{${OWN}}`), '{{instance}} open'),
        q(by('instance', `process_max_fds{${OWN}}`), '{{instance}} limit'),
      ),
      series(
        'Workers',
        8,
        'short',
        q(by('instance, state', `hub_workers{${OWN}}`), '{{instance}} {{state}}'),
        q(by('instance', `increase(hub_worker_deaths_total{${OWN}}[$__rate_interval])`), '{{instance}} died'),
      ),
      series(
        'Uptime',
        12,
        's',
        q(`time() - max by (instance) (process_start_time_seconds{${OWN}})`, '{{instance}}'),
      ),
      series(
        'Versions',
        12,
        'short',
        q(
          `count by (version, role, node) (hub_build_info{${OWN}})`,
          '{{version}} {{role}}, Node.js {{node}}',
        ),
      ),
      series(
        'Internal port certificate expires in',
        12,
        's',
        q(
          `min by (instance) (hub_rpc_certificate_expires_timestamp_seconds{${OWN}}) - time()`,
          '{{instance}}',
        ),
      ),
    ],
  },
];

function stat(
  title: string,
  query: Query,
  unit: string,
  more: Pick<PanelSpec, 'steps' | 'words'> = {},
): PanelSpec {
  return { title, queries: [query], unit, width: 3, kind: 'stat', ...more };
}

function series(title: string, width: number, unit: string, ...queries: Query[]): PanelSpec {
  return { title, queries, unit, width };
}

const WIDTH = 24;
const HEIGHT = { stat: 4, timeseries: 8 };

/** Places panels from left to right, and starts a new line when one does not fit. */
function layOut(rows: readonly RowSpec[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: specs } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { h: 1, w: WIDTH, x: 0, y },
      panels: [],
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const spec of specs) {
      if (x + spec.width > WIDTH) {
        x = 0;
        y += height;
      }
      height = HEIGHT[spec.kind ?? 'timeseries'];
      panels.push(panelOf(spec, panels.length + 1, { h: height, w: spec.width, x, y }));
      x += spec.width;
    }
    y += height;
  }
  return panels;
}

function panelOf(
  { title, queries, unit, kind = 'timeseries', help, steps, words, stacked }: PanelSpec,
  id: number,
  gridPos: object,
) {
  const thresholds = (steps ?? [['green', 0]]).map(([color, value], at) => ({
    color,
    value: at === 0 ? null : value,
  }));
  const mappings = words && [
    {
      type: 'value',
      options: Object.fromEntries(
        Object.entries(words).map(([value, text], index) => [value, { text, index }]),
      ),
    },
  ];
  return {
    id,
    type: kind,
    title,
    ...(help !== undefined && { description: help }),
    datasource: DATASOURCE,
    gridPos,
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource: DATASOURCE,
      editorMode: 'code',
      expr,
      legendFormat: legend || '__auto',
      range: true,
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: unit === 's' && kind === 'timeseries' ? undefined : 0,
        color: { mode: kind === 'stat' ? 'thresholds' : 'palette-classic' },
        thresholds: { mode: 'absolute', steps: thresholds },
        mappings: mappings ?? [],
        ...(kind === 'timeseries' && {
          custom: {
            drawStyle: 'line',
            lineInterpolation: 'linear',
            lineWidth: 1,
            fillOpacity: stacked ? 30 : 5,
            showPoints: 'never',
            spanNulls: false,
            stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
          },
        }),
      },
      overrides: [],
    },
    options:
      kind === 'stat'
        ? {
            colorMode: 'value',
            graphMode: 'area',
            justifyMode: 'auto',
            orientation: 'auto',
            textMode: 'auto',
            reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
          }
        : {
            legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
            tooltip: { mode: 'multi', sort: 'desc' },
          },
  };
}

const DASHBOARD = {
  title: 'Hub',
  uid: 'hub',
  description: 'Licenses and payments of a hub. Its alerts and what to do about them are in docs/operations.',
  tags: ['hub'],
  schemaVersion: 39,
  version: 1,
  editable: true,
  graphTooltip: 1,
  refresh: '30s',
  timezone: '',
  time: { from: 'now-6h', to: 'now' },
  annotations: { list: [] },
  links: [],
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', hide: 0 },
      variable('job', 'Job', 'label_values(hub_build_info, job)', false),
      variable('instance', 'Instance', 'label_values(hub_build_info{job="$job"}, instance)', true),
    ],
  },
  panels: layOut(ROWS),
};

function variable(name: string, label: string, query: string, several: boolean): object {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: several,
    includeAll: several,
    ...(several && { allValue: '.*', current: { text: 'All', value: '$__all' } }),
    hide: 0,
  };
}

writeFileSync(FILE, `${JSON.stringify(DASHBOARD, null, 2)}\n`);
