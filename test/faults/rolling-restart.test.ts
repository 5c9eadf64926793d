// Restarts two hubs in turn behind the documented proxies, under load: no request fails.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { freePort } from '../../core/storage/embedded-postgres/free-port.ts';
import { readPage } from '../docs/markdown.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../support/hub/hub-process.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { IS_LONG } from '../support/long.ts';
import { createMigratedDatabase } from '../support/postgres/databases.ts';
import { type Program, requireProgram, startProgram } from '../support/programs.ts';
import { until } from '../support/until.ts';

/** The long form also restarts hubs with two workers. */
const REQUESTS = IS_LONG ? 20_000 : 1_000;
const CONNECTIONS = 16;
/** Keeps requests under way at all times, and leaves the processor to the hubs that start. */
const PAUSE_MS = IS_LONG ? 0 : 10;
const DRAIN_SECONDS = 2;

const haproxy = (port: number, hubs: readonly number[]): string => `
global
  maxconn 1000
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout check 5s
  option redispatch
  retries 3
  retry-on conn-failure empty-response
frontend public
  bind 127.0.0.1:${port}
  default_backend hubs
backend hubs
  option httpchk GET /readyz
  default-server check inter 300ms fall 1 rise 1
${hubs.map((hub, index) => `  server hub${index} 127.0.0.1:${hub}`).join('\n')}
`;

const nginx = (port: number, hubs: readonly number[], dir: string): string => `
worker_processes 1;
daemon off;
pid ${dir}/nginx.pid;
error_log stderr;
events { worker_connections 1000; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  upstream hubs {
    ${hubs.map((hub) => `server 127.0.0.1:${hub} max_fails=1 fail_timeout=1s;`).join(' ')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://hubs;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_connect_timeout 1s;
      # Every request to a hub may be repeated: activation, release, checks and callbacks are idempotent.
      proxy_next_upstream error timeout http_503 non_idempotent;
    }
  }
}
`;

describe('a rolling restart', () => {
  let dir: string;
  let databaseUrl: string;
  let beside: TestHub;
  let license: TestLicense;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'hub-restart-'));
    databaseUrl = await createMigratedDatabase();
    beside = await startHub({ settings: { databaseUrl } });
    license = await issueLicense(beside.admin, { seatLimit: 50 });
  });
  after(async () => {
    await beside?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const environment = (name: string, port: number, workers: number) => ({
    DATABASE_URL: databaseUrl,
    HUB_DATA_DIR: join(dir, `${name}-${port}`),
    HUB_MASTER_KEY_FILE: join(beside.dataDir, 'master.key'),
    HUB_PORT: String(port),
    HUB_WORKERS: String(workers),
    HUB_DRAIN_SECONDS: String(DRAIN_SECONDS),
    HUB_LOG_LEVEL: 'info',
    HUB_DATABASE_POOL: '4',
  });

  /** Sends requests until `enough` is true, and returns the failures. */
  const load = async (url: string, enough: () => boolean) => {
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const failures: string[] = [];
    let sent = 0;
    const one = (): Promise<void> =>
      new Promise((resolve) => {
        const number = sent++;
        const fail = (reason: string): void => {
          failures.push(`request ${number}: ${reason}`);
          resolve();
        };
        const body = JSON.stringify({
          licenseKey: license.licenseKey,
          machineFingerprint: `machine-${number % 40}`,
        });
        const isPost = number % 2 === 0;
        const path = isPost ? '/v1/activate' : `/v1/status/${license.licenseId}`;
        const call = request(`${url}${path}`, {
          agent,
          method: isPost ? 'POST' : 'GET',
          headers: isPost ? { 'content-type': 'application/json', 'content-length': body.length } : {},
        });
        call.on('error', (error) => fail(error.message));
        call.on('response', (response) => {
          response.resume();
          response.on('end', () =>
            response.statusCode === 200 ? resolve() : fail(`${response.statusCode}`),
          );
          response.on('error', (error) => fail(error.message));
        });
        call.end(isPost ? body : undefined);
      });
    const connection = async (): Promise<void> => {
      while (sent < REQUESTS || !enough()) {
        await one();
        await setTimeout(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, connection));
    agent.destroy();
    return { sent, failures };
  };

  it('uses the settings of docs/how-to/behind-a-proxy.md', () => {
    const page = readPage('docs/how-to/behind-a-proxy.md');
    const tried = haproxy(1, [2]) + nginx(1, [2], '');
    const shown = [
      'option httpchk GET /readyz',
      'timeout check 5s',
      'option redispatch',
      'retry-on conn-failure empty-response',
    ];
    for (const line of [...shown, 'proxy_next_upstream error timeout http_503 non_idempotent;']) {
      expect(page, line).to.contain(line);
      expect(tried, line).to.contain(line);
    }
  });

  for (const proxy of ['haproxy', 'nginx'] as const) {
    for (const workers of [1, 2]) {
      if (!IS_LONG && workers > 1) continue;
      it(`of two hubs with ${workers} ${workers === 1 ? 'process' : 'workers'} each behind ${proxy} fails no request`, async function () {
        requireProgram(this, proxy, '-v');
        const ports = [await freePort(), await freePort()];
        const hubs: HubProcess[] = [];
        for (const port of ports) hubs.push(await spawnHub(environment(proxy, port, workers)));
        const front = await freePort();
        const file = join(dir, `${proxy}-${workers}.conf`);
        await writeFile(file, proxy === 'haproxy' ? haproxy(front, ports) : nginx(front, ports, dir));
        const args = proxy === 'haproxy' ? ['-f', file] : ['-c', file, '-p', dir, '-e', 'stderr'];
        const running: Program = startProgram(proxy, args);
        const url = `http://127.0.0.1:${front}`;
        try {
          await until(
            () =>
              fetch(`${url}/readyz`).then(
                ({ ok }) => ok,
                () => false,
              ),
            `${proxy} serves`,
          ).catch((error) => {
            throw new Error(`${error.message}\n${running.output()}`);
          });
          let restarted = false;
          const loading = load(url, () => restarted);
          for (const [index, port] of ports.entries()) {
            expect(await hubs[index]?.stop(), 'the exit code').to.equal(0);
            hubs[index] = await spawnHub(environment(proxy, port, workers));
            await until(
              () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok),
              'the new hub is ready',
            );
            // Waits until the proxy detects the restart, as an operator would.
            await setTimeout(1_000);
          }
          restarted = true;
          const { sent, failures } = await loading;
          expect(
            failures.slice(0, 5),
            `${failures.length} of ${sent} failed\n${running.output().slice(-2_000)}`,
          ).to.deep.equal([]);
          expect(sent).to.be.at.least(REQUESTS);
        } finally {
          await Promise.all(hubs.map((hub) => hub.stop()));
          await running.stop();
        }
      });
    }
  }
});
