// The hub as deploy/ runs it: the image of the Dockerfile, with variables, files and permissions of compose
// and Kubernetes.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createDatabase } from '../support/postgres/databases.ts';
import { requireRedis } from '../support/redis/redis.ts';
import { compose, containerOf, healthCommand, manifests, podsOf } from './files.ts';
import { buildByHand, type Container, requireNamespaces, runContainer } from './image.ts';

/** Tests run side by side: only the ports are others. */
const PORTS = ['--port', '0', '--rpc-port', '0'];
const USER = 10001;
const MASTER_KEY = `${Buffer.alloc(32, 7).toString('base64')}\n`;

describe('the image', function () {
  this.timeout(240_000); // it installs and compiles
  let room: string;
  let program: string;
  let redisUrl: string;
  const running: Container[] = [];
  const start = (options: Omit<Parameters<typeof runContainer>[0], 'program'>): Container => {
    const container = runContainer({ program, ...options });
    running.push(container);
    return container;
  };
  before(async function () {
    requireNamespaces(this);
    redisUrl = requireRedis(this);
    room = mkdtempSync(join(tmpdir(), 'hub-image-'));
    program = await buildByHand(room);
  });
  afterEach(async () => {
    for (const container of running.splice(0).reverse()) await container.stop();
  });
  after(() => room && rmSync(room, { recursive: true }));

  /** As Docker mounts secrets of compose: each a file, of the user who reads it. */
  function secretFiles(values: Record<string, string>): Record<string, string> {
    const folder = mkdtempSync(join(room, 'secrets-'));
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const file = join(folder, name);
        writeFileSync(file, value, { mode: 0o400 });
        chownSync(file, USER, USER);
        return [`/run/secrets/${name}`, file];
      }),
    );
  }

  /** As the kubelet mounts a Secret: links into a folder of root's, files of mode `defaultMode`, of the group of the pod. */
  function secretVolume(values: Record<string, string>, mode: number): string {
    const folder = mkdtempSync(join(room, 'volume-'));
    chmodSync(folder, 0o3777);
    mkdirSync(join(folder, '..v1'), { mode: 0o755 });
    symlinkSync('..v1', join(folder, '..data'));
    for (const [name, value] of Object.entries(values)) {
      writeFileSync(join(folder, '..v1', name), value);
      chownSync(join(folder, '..v1', name), 0, USER);
      chmodSync(join(folder, '..v1', name), mode);
      symlinkSync(`..data/${name}`, join(folder, name));
    }
    return folder;
  }

  /** As the kubelet prepares a volume for an fsGroup. */
  function groupVolume(): string {
    const folder = mkdtempSync(join(room, 'data-'));
    chownSync(folder, 0, USER);
    chmodSync(folder, 0o2775);
    return folder;
  }

  it('contains what a hub needs, and no tools, no PostgreSQL, no second Node.js', () => {
    const content = readdirSync(program);
    expect(content).to.include.members(['cli', 'dist', 'gateway', 'package.json']);
    expect(content).to.not.include('node_modules');
  });

  it('runs like compose.yaml says: the schema first, then the hub, which becomes healthy and stops on request', async () => {
    const { services } = compose();
    const values = { 'database-url': await createDatabase(), 'master-key': MASTER_KEY };
    const files = secretFiles(values);
    const secretsOf = (service: { secrets: string[] }) =>
      Object.fromEntries(
        service.secrets.map((name) => [`/run/secrets/${name}`, files[`/run/secrets/${name}`] ?? '']),
      );

    const { migrate, hub } = services;
    const job = start({
      environment: migrate.environment,
      words: [...migrate.command, '--output', 'json'],
      mounts: secretsOf(migrate),
    });
    expect(await job.ended, job.complaints()).to.equal(0);
    expect(job.lines.join('')).to.contain('"applied"');

    const data = mkdtempSync(join(room, 'data-'));
    chownSync(data, USER, USER);
    const container = start({
      environment: { ...hub.environment, HUB_PUBLIC_URL: 'https://hub.example.com', REDIS_URL: redisUrl },
      words: ['serve', ...PORTS],
      mounts: { ...secretsOf(hub), '/var/lib/hubctl': data },
    });
    const { gateway = '', rpc = '' } = await container.ready;
    expect((await fetch(`${gateway}/readyz`)).status).to.equal(200);
    expect((await fetch(`${rpc}/readyz`)).status).to.equal(200);
    expect(
      container.lines.filter((line) => /schema brought|created a master key|Redis does not/.test(line)),
    ).to.deep.equal([]);
    expect(readdirSync(data)).to.include.members(['admin-token', 'hub.json']).and.not.include('master.key');
    expect(isHealthy(gateway)).to.equal(true);
    expect(await container.stop(), container.complaints()).to.equal(0);
    expect(isHealthy(gateway)).to.equal(false);
    expect(container.lines.at(-1)).to.contain('hub has stopped');
  });

  it('runs like in Kubernetes: a core with a volume, a gateway without one, both answering probes', async () => {
    const pods = podsOf(manifests());
    const [core, gateway] = ['hub-core', 'hub-gateway'].map((name) => {
      const manifest = pods.get(name);
      if (manifest === undefined) throw new Error(`there is no ${name}`);
      return containerOf(manifest);
    });
    if (core === undefined || gateway === undefined) throw new Error('a role is missing');
    const modeOf = ({ pod }: typeof core) =>
      pod.volumes.find(({ secret }: { secret?: object }) => secret !== undefined).secret.defaultMode;

    const stores = {
      'database-url': await createDatabase(),
      'redis-url': redisUrl,
      'master-key': MASTER_KEY,
    };
    const volume = groupVolume();
    const cores = start({
      environment: core.environment,
      words: [...core.container.args, ...PORTS],
      group: core.pod.securityContext.fsGroup,
      mounts: { '/run/secrets/hub': secretVolume(stores, modeOf(core)), '/var/lib/hubctl': volume },
    });
    const { rpc = '' } = await cores.ready;
    await probe(core.container, { rpc });

    const [, inside = ''] = core.environment['HUB_DATA_DIR']?.split('/var/lib/hubctl/') ?? [];
    const created = start({
      environment: { ...core.environment, HUBCTL_SERVER: rpc },
      words: ['token', 'create', '--role', 'gateway', '--name', 'gateway', '--output', 'json'],
      mounts: { '/var/lib/hubctl': volume },
    });
    expect(await created.ended, created.complaints()).to.equal(0);
    expect(readdirSync(join(volume, inside))).to.include('admin-token');

    const secrets = { 'core-token': JSON.parse(created.lines.join('\n')).token, 'redis-url': redisUrl };
    const front = start({
      environment: { ...gateway.environment, HUB_CORE_URL: rpc },
      words: [...gateway.container.args, ...PORTS],
      group: gateway.pod.securityContext.fsGroup,
      mounts: { '/run/secrets/hub': secretVolume(secrets, modeOf(gateway)) },
    });
    const addresses = await front.ready;
    await probe(gateway.container, { http: addresses.gateway ?? '' });
    expect((await fetch(`${addresses.metrics}/metrics`)).status).to.equal(401);
    for (const container of [front, cores])
      expect(await container.stop(), container.complaints()).to.equal(0);
  });

  it('does not start if a secret is missing or open to others', async () => {
    const files = secretFiles({
      'database-url': 'postgres://nobody@127.0.0.1:1/none',
      'master-key': MASTER_KEY,
    });
    chmodSync(files['/run/secrets/master-key'] ?? '', 0o444);
    const data = mkdtempSync(join(room, 'data-'));
    chownSync(data, USER, USER);
    const environment = { ...compose().services.hub.environment, HUB_PUBLIC_URL: 'https://hub.example.com' };
    const open = start({ environment, mounts: { ...files, '/var/lib/hubctl': data } });
    expect(await open.ended).to.not.equal(0);
    expect(open.complaints()).to.contain('is open to other users');
    const { '/run/secrets/database-url': _, ...fewer } = files;
    const missing = start({ environment, mounts: { ...fewer, '/var/lib/hubctl': data } });
    expect(await missing.ended).to.not.equal(0);
    expect(missing.complaints()).to.contain('/run/secrets/database-url');
  });
});

/** By the command of the image, asked where this hub listens. */
function isHealthy(gateway: string): boolean {
  const [node = '', ...words] = healthCommand();
  expect(node).to.equal('node');
  const asked = words.map((word) => word.replace('http://127.0.0.1:5099', gateway));
  expect(asked).to.not.deep.equal(words);
  return spawnSync(process.execPath, asked).status === 0;
}

type Probed = {
  readonly [probe in 'startupProbe' | 'livenessProbe' | 'readinessProbe']: {
    readonly httpGet: { readonly path: string; readonly port: string };
  };
};

async function probe(container: Probed, urls: Record<string, string>): Promise<void> {
  for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const { path, port } = container[name].httpGet;
    expect((await fetch(`${urls[port]}${path}`)).status, `${name} ${path}`).to.equal(200);
  }
}
