// Writes docs/operations/grafana-dashboard.json.
//
// Grafana 9 and later import this classic format.
import { writeFileSync } from 'node:fs';

type Panel = {
  readonly kind: 'timeseries' | 'stat';
  readonly unit: string;
  /** In columns of 24. */
  readonly width: number;
  /** PromQL by legend. An empty legend leaves it to Grafana. */
  readonly queries: Readonly<Record<string, string>>;
  /** Thresholds by color, ascending. The first color also applies below the first threshold. */
  readonly steps?: Readonly<Record<string, number>>;
  /** Texts shown instead of values. */
  readonly words?: Readonly<Record<string, string>>;
  readonly stacked?: boolean;
};

const FILE = new URL('../../docs/operations/grafana-dashboard.json', import.meta.url);
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
/** All hubs of a job: for sums, and for metrics that come from the database. */
const JOB = 'job="$job"';
/** The selected processes. */
const OWN = 'job="$job",instance=~"$instance"';

const rate = (name: string, labels = JOB): string => `rate(${name}{${labels}}[$__rate_interval])`;
const sum = (labels: string, expr: string): string => `sum by (${labels}) (${expr})`;
const rates = (labels: string, name: string, filter = JOB): string => sum(labels, rate(name, filter));
const own = (name: string, labels = 'instance'): string => sum(labels, `${name}{${OWN}}`);
const max = (name: string, labels = ''): string => `max${labels && ` by (${labels}) `}(${name}{${JOB}})`;
const quantile = (share: number, name: string, labels = '', filter = JOB): string =>
  `histogram_quantile(${share}, sum by (${labels ? `${labels}, ` : ''}le) (${rate(`${name}_bucket`, filter)}))`;

const REQUESTS = 'hub_http_requests_total';
const LICENSE_REQUESTS = `${JOB},route=~"/v1/(activate|deactivate|status/.*)"`;
const UP = { red: 0, green: 1 };

/** The panels of each row, by title. */
const ROWS: Readonly<Record<string, Readonly<Record<string, Panel>>>> = {
  Overview: {
    'Hubs up': stat('short', `sum(up{${JOB}})`, { steps: UP }),
    Database: stat('short', `min(hub_database_up{${OWN}})`, { steps: UP, words: { 0: 'down', 1: 'up' } }),
    Requests: stat('reqps', `sum(${rate(REQUESTS)})`),
    '5xx responses': stat(
      'percentunit',
      `sum(${rate(REQUESTS, `${JOB},status=~"5.."`)}) / sum(${rate(REQUESTS)})`,
      { steps: { green: 0, orange: 0.01, red: 0.05 } },
    ),
    'Payments, last hour': stat(
      'short',
      `sum(increase(hub_session_status_changes_total{${JOB},status="success"}[1h]))`,
    ),
    'Oldest waiting callback': stat('s', max('hub_callbacks_oldest_waiting_seconds'), {
      steps: { green: 0, orange: 600, red: 3_600 },
    }),
    'Callbacks dead, last day': stat(
      'short',
      `sum(increase(hub_callbacks_total{${JOB},outcome="dead"}[1d]))`,
      { steps: { green: 0, red: 1 } },
    ),
    'Active seats': stat('short', `max(hub_seats{${JOB},state="active"})`),
  },
  Requests: {
    'Requests by status': panel('reqps', 8, { '{{status}}': rates('status', REQUESTS) }),
    'Requests by route': panel('reqps', 8, { '{{route}}': rates('route', REQUESTS) }),
    'License request latency': panel('s', 8, {
      p50: quantile(0.5, 'hub_http_request_duration_seconds', '', LICENSE_REQUESTS),
      p95: quantile(0.95, 'hub_http_request_duration_seconds', '', LICENSE_REQUESTS),
      p99: quantile(0.99, 'hub_http_request_duration_seconds', '', LICENSE_REQUESTS),
    }),
    'p99 latency by route': panel('s', 8, {
      '{{route}}': quantile(0.99, 'hub_http_request_duration_seconds', 'route'),
    }),
    'Problems by code': panel('reqps', 8, { '{{code}}': `${rates('code', 'hub_http_problems_total')} > 0` }),
    'Rate-limited requests': panel('reqps', 8, { '{{limit}}': rates('limit', 'hub_rate_limited_total') }),
    'In progress, and connections': panel('short', 8, {
      'license requests {{instance}}': own('hub_http_in_flight'),
      'connections {{instance}}': own('hub_http_connections'),
      'RPCs {{instance}}': own('hub_rpc_in_flight'),
      'internal port connections {{instance}}': own('hub_rpc_connections'),
    }),
    'RPCs by method': panel('reqps', 8, { '{{method}}': rates('method', 'hub_rpc_requests_total') }),
    'Failed and refused RPCs': panel('reqps', 8, {
      '{{method}} {{code}}': rates('method, code', 'hub_rpc_requests_total', `${JOB},code!="ok"`),
      'refused {{status}}': rates('status', 'hub_rpc_refused_total'),
    }),
    'p99 RPC latency by method': panel('s', 8, {
      '{{method}}': quantile(0.99, 'hub_rpc_request_duration_seconds', 'method'),
    }),
  },
  'Callbacks and sessions': {
    'Callbacks by outcome': panel('cps', 8, {
      '{{gateway}} {{outcome}}': rates('gateway, outcome', 'hub_callbacks_total'),
    }),
    'Callbacks received': panel('cps', 8, {
      '{{gateway}}': rates('gateway', 'hub_callbacks_received_total'),
    }),
    'Unprocessed callbacks': panel('short', 8, {
      'waiting for provider': max('hub_callbacks_waiting'),
      stray: max('hub_callbacks_stray'),
      dead: max('hub_callbacks_dead'),
      'payments held for review': max('hub_sessions_held'),
      'orders blocked': max('hub_orders_blocked'),
      'refunds that need review': max('hub_refunds_needing_review'),
      'in progress': `sum(hub_callbacks_under_way{${JOB}})`,
      'jobs {{state}}': max('hub_jobs', 'state'),
    }),
    'Age of oldest unprocessed callback': panel('s', 8, {
      'waiting for provider': max('hub_callbacks_oldest_waiting_seconds'),
      stray: max('hub_callbacks_oldest_stray_seconds'),
    }),
    'Fee drift': panel('percentunit', 8, { '{{slot}}': max('hub_fee_drift_ratio', 'slot') }),
    'Session status changes': panel('cps', 8, {
      '{{slot}} created': rates('slot', 'hub_sessions_created_total'),
      '{{slot}} {{status}}': rates('slot, status', 'hub_session_status_changes_total'),
    }),
    'Pending sessions by age': {
      ...panel('short', 8, { '{{age}}': max('hub_sessions_pending', 'age') }),
      stacked: true,
    },
  },
  Providers: {
    'Verification results': panel('cps', 8, {
      '{{slot}} {{result}}': `${rates('slot, result', 'hub_verifications_total')} > 0`,
    }),
    'Verification latency': panel('s', 8, {
      '{{slot}} p50': quantile(0.5, 'hub_verification_duration_seconds', 'slot'),
      '{{slot}} p90': quantile(0.9, 'hub_verification_duration_seconds', 'slot'),
    }),
    'Queries to providers': panel('short', 8, {
      '{{slot}} {{state}}': sum('slot, state', `hub_provider_questions{${JOB}}`),
    }),
    Checkouts: panel('cps', 8, {
      '{{slot}} {{result}}': `${rates('slot, result', 'hub_checkouts_total')} > 0`,
    }),
    'Checkout latency': panel('s', 8, {
      '{{slot}} p90': quantile(0.9, 'hub_checkout_duration_seconds', 'slot'),
    }),
    'Deferred queries': panel('cps', 8, { '{{reason}}': rates('reason', 'hub_questions_put_off_total') }),
    'Sweep queries': panel('cps', 8, { '{{result}}': rates('result', 'hub_sweep_questions_total') }),
    'Sweep delay': panel('s', 8, { '{{slot}}': max('hub_sweep_overdue_seconds', 'slot') }),
    'Verification leases held': panel('short', 8, { '{{instance}}': own('hub_leases_held') }),
  },
  Licenses: {
    'Activations and seats': panel('cps', 12, {
      activations: `sum(${rate('hub_activations_total')})`,
      'new seats': `sum(${rate('hub_seats_taken_total')})`,
      'released by {{by}}': rates('by', 'hub_seats_released_total'),
    }),
    'Licenses and seats': panel('short', 12, {
      licenses: max('hub_licenses'),
      'seats {{state}}': max('hub_seats', 'state'),
    }),
  },
  Mails: {
    Mails: panel('cps', 12, { '{{result}}': rates('result', 'hub_mail_attempts_total') }),
    'Mails that are not sent': panel('short', 6, {
      queued: max('hub_mails_queued'),
      failed: max('hub_mails_failed'),
    }),
    'Age of the oldest queued mail': panel('s', 6, { age: max('hub_mail_queue_age_seconds') }),
  },
  Events: {
    'Events and deliveries': panel('cps', 8, {
      events: `sum(${rate('hub_events_total')})`,
      'deliveries {{result}}': rates('result', 'hub_event_delivery_attempts_total'),
    }),
    'Delivery latency': panel('s', 8, {
      p50: quantile(0.5, 'hub_event_delivery_duration_seconds'),
      p90: quantile(0.9, 'hub_event_delivery_duration_seconds'),
    }),
    Endpoints: panel('short', 8, { '{{state}}': max('hub_event_endpoints', 'state') }),
    'Pending deliveries': panel('short', 12, { 'pending deliveries': max('hub_event_deliveries_pending') }),
    'Delay of events': panel('s', 12, {
      'oldest event without a number': max('hub_events_unnumbered_age_seconds'),
      'most overdue delivery': max('hub_event_deliveries_overdue_seconds'),
    }),
  },
  'Database and Redis': {
    'Database connections': panel('short', 8, {
      '{{instance}} {{state}}': own('hub_pg_pool_connections', 'instance, state'),
      '{{instance}} waiting': own('hub_pg_pool_waiting'),
      '{{instance}} limit': own('hub_pg_pool_limit'),
    }),
    'Database and Redis up': panel('short', 8, {
      'database {{instance}}': own('hub_database_up'),
      'Redis {{instance}}': own('hub_redis_up'),
    }),
    'Requests counted in memory': panel('cps', 8, {
      '{{instance}}': rates('instance', 'hub_redis_fallbacks_total', OWN),
    }),
    'Clock offset from the database': panel('s', 8, { '{{instance}}': own('hub_clock_ahead_seconds') }),
    'Partitions ahead (months)': panel('short', 8, { months: `min(hub_partition_months_ahead{${JOB}})` }),
  },
  'Tasks and audit log': {
    'Time since last success': panel('s', 8, {
      '{{task}}': `time() - min by (task) (hub_task_last_success_timestamp_seconds{${OWN},task!="partitions"})`,
    }),
    'Task failures': panel('cps', 8, { '{{task}}': rates('task', 'hub_task_failures_total') }),
    'Audit log': panel('short', 8, {
      'unlinked entries': max('hub_audit_unlinked_entries'),
      'oldest unlinked (s)': max('hub_audit_oldest_unlinked_seconds'),
      'chain stopped': max('hub_audit_chain_stopped'),
      'head lost': max('hub_audit_head_lost'),
      'new links per second': `max(${rate('hub_audit_chain_links')})`,
    }),
  },
  Processes: {
    CPU: panel('short', 8, { '{{instance}}': rates('instance', 'process_cpu_seconds_total', OWN) }),
    'Event loop utilization per process': panel('percentunit', 8, {
      '{{instance}}': `${rates('instance', 'nodejs_eventloop_active_seconds_total', OWN)} / ${sum('instance', `hub_workers{${OWN},state="serving"}`)}`,
    }),
    'Event loop delay': panel('s', 8, {
      '{{instance}} p99': quantile(0.99, 'hub_event_loop_delay_seconds', 'instance', OWN),
      '{{instance}} p50': quantile(0.5, 'hub_event_loop_delay_seconds', 'instance', OWN),
    }),
    Memory: panel('bytes', 8, {
      '{{instance}} resident': own('process_resident_memory_bytes'),
      '{{instance}} heap': own('nodejs_heap_size_used_bytes'),
    }),
    'File descriptors': panel('short', 8, {
      '{{instance}} open': own('process_open_fds'),
      '{{instance}} limit': own('process_max_fds'),
    }),
    Workers: panel('short', 8, {
      '{{instance}} {{state}}': own('hub_workers', 'instance, state'),
      '{{instance}} died': sum('instance', `increase(hub_worker_deaths_total{${OWN}}[$__rate_interval])`),
    }),
    Uptime: panel('s', 12, {
      '{{instance}}': `time() - max by (instance) (process_start_time_seconds{${OWN}})`,
    }),
    Versions: panel('short', 12, {
      '{{version}} {{role}}, Node.js {{node}}': `count by (version, role, node) (hub_build_info{${OWN}})`,
    }),
    'Internal port certificate expires in': panel('s', 12, {
      '{{instance}}': `min by (instance) (hub_rpc_certificate_expires_timestamp_seconds{${OWN}}) - time()`,
    }),
  },
};

function stat(unit: string, expr: string, more: Pick<Panel, 'steps' | 'words'> = {}): Panel {
  return { kind: 'stat', unit, width: 3, queries: { '': expr }, ...more };
}

function panel(unit: string, width: number, queries: Panel['queries']): Panel {
  return { kind: 'timeseries', unit, width, queries };
}

const WIDTH = 24;
const HEIGHT = { stat: 4, timeseries: 8 };

/** Places panels from left to right, and starts a new line when one does not fit. */
function layOut(rows: typeof ROWS): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const [row, contents] of Object.entries(rows)) {
    const gridPos = { h: 1, w: WIDTH, x: 0, y };
    panels.push({ id: panels.length + 1, type: 'row', title: row, collapsed: false, gridPos, panels: [] });
    y += 1;
    let x = 0;
    let height = 0;
    for (const [title, spec] of Object.entries(contents)) {
      const { kind, width } = spec;
      if (x + width > WIDTH) {
        x = 0;
        y += height;
      }
      height = HEIGHT[kind];
      panels.push(panelOf(title, spec, panels.length + 1, { h: height, w: width, x, y }));
      x += width;
    }
    y += height;
  }
  return panels;
}

function panelOf(title: string, spec: Panel, id: number, gridPos: object) {
  const { kind, unit, queries, steps = { green: 0 }, words, stacked } = spec;
  const thresholds = Object.entries(steps).map(([color, value], at) => ({
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
    datasource: DATASOURCE,
    gridPos,
    targets: Object.entries(queries).map(([legend, expr], at) => ({
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
