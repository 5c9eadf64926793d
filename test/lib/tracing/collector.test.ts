// Traces must cost nothing when disabled, and do no harm when their collector fails.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isTracingEnabled } from '../../../cli/serve/tracing-enabled.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { HUBCTL_SOURCE, type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { startReceiver } from '../../support/otlp/receiver.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

describe('a hub that exports traces', () => {
  let dataDir: string;
  let databaseUrl: string;
  before(async () => {
    dataDir = await makeDataDir();
    databaseUrl = await createMigratedDatabase();
  });
  after(() => discard(dataDir));

  const start = (environment: Record<string, string>): Promise<HubProcess> =>
    spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ...environment });

  async function askSome({ gatewayUrl }: HubProcess): Promise<void> {
    const asked = Array.from({ length: 20 }, () => fetch(`${gatewayUrl}/v1/status/lic_unknown`));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).to.deep.equal(new Set([404]));
  }

  /** The lines of the log with this message. */
  function linesOf({ lines }: HubProcess, message: string): object[] {
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);
  }

  it('loads the OpenTelemetry SDK only if traces are exported', async () => {
    const NODE_OPTIONS = `--import ${fileURLToPath(new URL('report-loads.js', import.meta.url))}`;
    const loaded = async (environment: Record<string, string>): Promise<boolean> => {
      // A bundle does not load the packages by their names.
      const settings = { HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl, NODE_OPTIONS, ...environment };
      const hub = await spawnHub(settings, undefined, HUBCTL_SOURCE);
      await askSome(hub);
      expect(await hub.stop()).to.equal(0);
      expect(hub.lines.join('\n').includes('trace_id')).to.equal(hub.complaints() !== '');
      return hub.complaints().includes('loaded ');
    };
    const endpoint = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/v1/traces' };
    expect([await loaded({}), await loaded(endpoint)]).to.deep.equal([false, true]);
  });

  it('traces by either standard variable, unless another disables it', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
    expect([
      isTracingEnabled(endpoint),
      isTracingEnabled({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }),
      isTracingEnabled({ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' }),
      isTracingEnabled({ ...endpoint, OTEL_TRACES_EXPORTER: 'console,otlp' }),
    ]).to.deep.equal([true, true, true, true]);
    expect([
      isTracingEnabled({}),
      isTracingEnabled({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }),
      isTracingEnabled({ OTEL_SERVICE_NAME: 'hub' }),
      isTracingEnabled({ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }),
      isTracingEnabled({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }),
    ]).to.deep.equal([false, false, false, false, false]);
  });

  it('serves without a collector, and logs it once', async () => {
    const hub = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BSP_MAX_QUEUE_SIZE: '5',
    });
    const TROUBLE = 'the collector does not accept traces';
    const LOST = 'some traces were lost';
    await until(async () => {
      await askSome(hub);
      return linesOf(hub, TROUBLE).length > 0 && linesOf(hub, LOST).length > 0;
    }, 'the log tells of the collector');
    await askSome(hub);
    expect(await hub.stop()).to.equal(0);
    expect([linesOf(hub, TROUBLE).length, linesOf(hub, LOST).length]).to.deep.equal([1, 1]);
    expect(hub.complaints()).to.equal('');
  });

  it('does not wait for a collector that hangs', async () => {
    const hanging = createServer().listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const { port } = hanging.address() as AddressInfo; // it listens on TCP
    const reached = once(hanging, 'connection');
    const hub = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
      OTEL_BSP_EXPORT_TIMEOUT: '600000',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
    });
    await askSome(hub);
    await reached;
    for (let round = 0; round < 5; round++) await askSome(hub);
    expect(await hub.stop()).to.equal(0);
    expect(linesOf(hub, 'the last traces could not be exported')).to.have.length(1);
    hanging.close();
  });

  it('sends its remaining traces when it stops, from each worker', async () => {
    const receiver = await startReceiver();
    const hub = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      HUB_WORKERS: '2',
    });
    // Which worker takes a connection is chance.
    const workers = () =>
      new Set(
        hub.lines
          .map((line) => JSON.parse(line))
          .flatMap(({ worker, msg }) => (msg === 'request' ? worker : [])),
      );
    await until(async () => {
      await fetch(`${hub.gatewayUrl}/v1/status/lic_unknown`, { headers: { connection: 'close' } });
      return workers().size === 2;
    }, 'both workers have served');
    expect(receiver.spans).to.deep.equal([]);
    expect(await hub.stop()).to.equal(0);
    const instances = receiver.spans.map(({ resource }) => resource['service.instance.id']);
    expect(new Set(instances).size).to.equal(2);
    // The RPC within the process is part of the request.
    const request = receiver.spans.find(({ name }) => name === 'GET /v1/status/{licenseId}');
    const [rpc] = receiver.spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
    expect(rpc).to.include({ name: 'hub.license.v1.LicenseService/CheckStatus', kind: 'internal' });
    await receiver.close();
  });
});
