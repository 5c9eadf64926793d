// Health checks, throughput and latencies of the hub, from its metrics.

import { timestampDate } from '@bufbuild/protobuf/wkt';
import { useRef } from 'preact/hooks';
import { checkHealth, type HealthFinding } from '../../../lib/presentation/health.ts';
import { createInterval, createReading, type Reading } from '../../../lib/presentation/metric-reading.ts';
import { computeThroughput, type Throughput } from '../../../lib/presentation/throughput.ts';
import { Facts } from '../components/facts.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { Badge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { useLive } from '../poll-hub.ts';
import { useSignedIn } from '../sign-in-state.ts';

/** Rates need two readings; the first load takes both. */
const FIRST_MS = 1_000;
const REMEMBERED = 60;

type HealthHistory = { readonly findings: readonly HealthFinding[]; readonly history: readonly Throughput[] };

export function HealthView() {
  const { hub } = useSignedIn();
  const before = useRef<Reading | undefined>(undefined);
  const history = useRef<readonly Throughput[]>([]);
  const live = useLive('health', 3_000, async (signal): Promise<HealthHistory> => {
    const read = async (): Promise<Reading> => {
      const { families } = await hub.metrics.readMetrics({}, { signal });
      return createReading(families, performance.now());
    };
    let earlier = before.current;
    if (earlier === undefined) {
      earlier = await read();
      await new Promise((resolve) => setTimeout(resolve, FIRST_MS));
    }
    const [reading, told] = await Promise.all([read(), hub.access.getCaller({}, { signal })]);
    const now = told.hubTime ? timestampDate(told.hubTime) : new Date();
    const load = computeThroughput(reading, createInterval(earlier, reading), new Date());
    before.current = reading;
    history.current = [...history.current, load].slice(-REMEMBERED);
    return { findings: checkHealth(reading, now), history: history.current };
  });
  return (
    <LivePage title="Health" live={live}>
      {({ findings, history }) => (
        <>
          <Findings findings={findings} />
          <Now history={history} />
        </>
      )}
    </LivePage>
  );
}

function Findings({ findings }: { readonly findings: readonly HealthFinding[] }) {
  return (
    <Table
      caption="Health of the hub"
      rows={findings}
      keyOf={({ check }) => check}
      empty="The hub reports no health checks."
      columns={[
        { title: 'What', cell: ({ check }) => check },
        { title: 'State', cell: ({ state }) => <Badge>{state}</Badge> },
        {
          title: 'Found',
          kind: 'long',
          cell: (finding) =>
            finding.state === 'ok' ? finding.detail : `${finding.detail}. Remedy: ${finding.remedy}.`,
        },
      ]}
    />
  );
}

function Now({ history }: { readonly history: readonly Throughput[] }) {
  const load = history.at(-1);
  if (load === undefined) return null;
  const { licenses, database, process } = load;
  const trend = (figureOf: (past: Throughput) => number) => <Trend values={history.map(figureOf)} />;
  const withTrend = (figureOf: (each: Throughput) => number) => (
    <>
      {figureOf(load)} {trend(figureOf)}
    </>
  );
  return (
    <>
      <Section title="Requests">
        <Table
          caption="Requests"
          rows={load.requests}
          keyOf={({ name }) => name}
          empty="None now."
          columns={[
            { title: 'Request', kind: 'long', cell: ({ name }) => <code class="value">{name}</code> },
            { title: 'Per second', kind: 'number', cell: ({ perSecond }) => perSecond },
            { title: 'Failed', kind: 'number', cell: ({ errorsPerSecond }) => errorsPerSecond },
            { title: 'Median', kind: 'number', wide: true, cell: ({ p50Ms }) => msText(p50Ms) },
            { title: '99th percentile', kind: 'number', cell: ({ p99Ms }) => msText(p99Ms) },
            {
              title: 'Lately',
              wide: true,
              cell: ({ name }) =>
                trend(({ requests }) => requests.find((each) => each.name === name)?.perSecond ?? 0),
            },
          ]}
        />
      </Section>
      {load.providers.length > 0 && (
        <Section title="Requests to providers">
          <Table
            caption="Requests to providers"
            rows={load.providers}
            keyOf={({ slot }) => slot}
            empty=""
            columns={[
              { title: 'Slot', cell: ({ slot }) => slot },
              { title: 'Per second', kind: 'number', cell: ({ questionsPerSecond }) => questionsPerSecond },
              { title: 'Failed', kind: 'number', cell: ({ failuresPerSecond }) => failuresPerSecond },
              { title: '99th percentile', kind: 'number', cell: ({ p99Ms }) => msText(p99Ms) },
              { title: 'Under way', kind: 'number', wide: true, cell: ({ underWay }) => underWay },
              { title: 'Waiting', kind: 'number', wide: true, cell: ({ waiting }) => waiting },
              {
                title: 'Lately',
                wide: true,
                cell: ({ slot }) =>
                  trend(
                    ({ providers }) => providers.find((each) => each.slot === slot)?.questionsPerSecond ?? 0,
                  ),
              },
            ]}
          />
        </Section>
      )}
      <Section title="Current rates">
        <Facts
          facts={[
            ['Callbacks per second', withTrend((each) => each.callbacks.perSecond)],
            ['Payments per second', withTrend((each) => each.sessions.paidPerSecond)],
            ['Activations per second', withTrend((each) => each.licenses.activationsPerSecond)],
            ['Seats in use', licenses.seatsActive],
            [
              'Database',
              database.up
                ? `${database.connections} of ${database.limit} connections busy, ${database.waiting} waiting`
                : 'does not answer',
            ],
            ['Processors in use', withTrend((each) => each.process.cpu)],
            ['Memory', `${Math.round(process.memoryBytes / 1e6)} MB in ${process.workers} serving`],
            ['Event loop delay', `${msText(process.eventLoopP99Ms)} (99 %)`],
          ]}
        />
      </Section>
    </>
  );
}

function msText(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '–' : `${milliseconds} ms`;
}

const WIDTH = 96;
const HEIGHT = 20;
/** Number of values that fill the width. */
const MOST = 60;

/** A sparkline, which grows to the right, then scrolls. Decorative: the current value is beside it as text. */
function Trend({ values }: { readonly values: readonly number[] }) {
  const shown = values.slice(-MOST);
  const top = Math.max(...shown, 0) || 1;
  const points = shown.map((value, index) => {
    const x = (index * WIDTH) / (MOST - 1);
    const y = HEIGHT - 1 - (value / top) * (HEIGHT - 2);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="trend" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}
