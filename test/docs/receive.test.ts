// The receivers of docs/how-to/receive-events.md: a hub delivers to each of them.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { signatureHeaders } from '../../core/event/delivery/signature.ts';
import { Secret } from '../../core/secret.ts';
import { freePort } from '../../core/storage/embedded-postgres/free-port.ts';
import { type Delivery, DeliveryState } from '../../gen/hub/event/v1/event_pb.ts';
import {
  addEndpoint,
  type EventClient,
  eventClient,
  eventsOf,
  RECEIVER_SETTINGS,
  untilDelivery,
} from '../core/event/event-scene.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { createApp, issueLicense } from '../support/hub/license.ts';
import { until } from '../support/until.ts';
import { fencedBlocks, ROOT, readPage } from './markdown.ts';

const PAGE = readPage('docs/how-to/receive-events.md');
const FOLDER = fileURLToPath(new URL('docs/receive/', ROOT));

type Sample = {
  readonly folder: string;
  /** Succeeds if the language is installed. */
  readonly needs: readonly [string, ...string[]];
  /** Compiles to `out`. */
  readonly build?: (out: string) => readonly [string, ...string[]];
  readonly run: (out: string) => readonly [string, ...string[]];
};

const SAMPLES: readonly Sample[] = [
  {
    folder: 'typescript',
    needs: [process.execPath, '--version'],
    run: () => [process.execPath, 'receive.ts'],
  },
  { folder: 'python', needs: ['python3', '--version'], run: () => ['python3', 'receive.py'] },
  {
    folder: 'go',
    needs: ['go', 'version'],
    build: (out) => ['go', 'build', '-o', join(out, 'receive'), '.'],
    run: (out) => [join(out, 'receive')],
  },
];

const HOUR_MS = 3_600_000;

describe('docs/how-to/receive-events.md', () => {
  it('shows the receiver in TypeScript, and links all', () => {
    expect(fencedBlocks(PAGE, 'ts')).to.deep.equal([readPage('docs/receive/typescript/receive.ts')]);
    const linked = [...PAGE.matchAll(/\]\(\.\.\/receive\/([^/]+)\//g)].map(([, folder]) => folder);
    expect(linked).to.have.members(readdirSync(FOLDER));
    expect(SAMPLES.map(({ folder }) => folder)).to.have.members(readdirSync(FOLDER));
  });
});

for (const sample of SAMPLES) {
  const { folder } = sample;
  const isThere = spawnSync(sample.needs[0], sample.needs.slice(1)).status === 0;

  const title = `the receiver in docs/receive/${folder}${isThere ? '' : ' (not run: not installed)'}`;

  describe(title, () => {
    const test = isThere ? it : it.skip;
    let hub: TestHub;
    let events: EventClient;
    let program: ChildProcess;
    let out: string;
    let url: string;
    let endpoint: { readonly endpointId: string; readonly secret: string };
    const lines: string[] = [];

    before(async () => {
      if (!isThere) return;
      hub = await startHub({ settings: RECEIVER_SETTINGS });
      events = eventClient(hub);
      out = await mkdtemp(join(tmpdir(), 'hub-receive-'));
      const port = await freePort();
      url = `http://127.0.0.1:${port}/hook`;
      endpoint = await addEndpoint(events, url);
      const cwd = join(FOLDER, folder);
      const build = sample.build?.(out);
      if (build) expect(spawnSync(build[0], build.slice(1), { cwd }).status, 'it compiles').to.equal(0);
      const [file, ...args] = sample.run(out);
      const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: endpoint.secret };
      program = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
      if (program.stdout) createInterface(program.stdout).on('line', (line) => lines.push(line));
      const listens = () =>
        fetch(url, { method: 'POST', body: '{}' }).then(
          () => true,
          () => false,
        );
      await until(listens, `${folder} listens`, 30_000);
    });
    after(async () => {
      if (!isThere) return;
      if (program.exitCode === null && program.kill()) await once(program, 'exit');
      await hub.stop();
      await rm(out, { recursive: true });
    });

    /** Issues a license, and returns the id of its event once the receiver has printed it. */
    const receiveOne = async (): Promise<string> => {
      const { licenseId } = await issueLicense(hub.admin, { app: await createApp(hub.admin) });
      const [event] = await eventsOf(events, licenseId, 1);
      const eventId = event?.eventId ?? '';
      await until(() => lines.includes(`${eventId} license.issued`), `it prints ${eventId}`);
      return eventId;
    };

    test('prints an event once, also if it is delivered again', async () => {
      const eventId = await receiveOne();
      const first = await untilDelivery(events, { ...endpoint, eventId }, isDelivered, 'it is delivered');
      await events.replayEvent({ ...endpoint, eventId });
      const isRepeated = (delivery: Delivery): boolean =>
        isDelivered(delivery) && attemptMs(delivery) > attemptMs(first);
      await untilDelivery(events, { ...endpoint, eventId }, isRepeated, 'it is delivered again');
      await receiveOne();
      expect(lines.filter((line) => line.startsWith(eventId))).to.have.length(1);
    });

    test('accepts deliveries with two signatures, while the secret is replaced', async () => {
      await events.rotateEndpointSecret({ endpointId: endpoint.endpointId });
      await receiveOne();
    });

    test('refuses what the hub has not just sent', async () => {
      const body =
        '{"type":"license.issued","timestamp":"2027-03-01T09:30:00.125Z","sequence":1,"data":null}';
      const post = async (headers: Record<string, string>, text = body): Promise<number> =>
        (await fetch(url, { method: 'POST', headers, body: text })).status;
      const sign = (timestamp: Date, secret = endpoint.secret) => ({
        ...signatureHeaders({ id: 'evt_1', timestamp, body, secrets: [new Secret(secret)] }),
      });
      const now = new Date();
      const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
      expect(await post({})).to.equal(400);
      expect(await post(sign(now, other))).to.equal(400);
      expect(await post(sign(now), body.replace('issued', 'revoked'))).to.equal(400);
      expect(await post({ ...sign(now), 'webhook-id': 'evt_2' })).to.equal(400);
      expect(await post(sign(new Date(now.getTime() - HOUR_MS)))).to.equal(400);
      expect(lines.some((line) => line.startsWith('evt_1'))).to.equal(false);
      expect(await post(sign(now))).to.equal(204);
    });
  });
}

function attemptMs({ lastAttemptAt }: Delivery): number {
  return lastAttemptAt ? timestampMs(lastAttemptAt) : 0;
}

function isDelivered({ state }: Delivery): boolean {
  return state === DeliveryState.DELIVERED;
}
