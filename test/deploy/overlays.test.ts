// The overlays of deploy/, as kubectl builds them without a cluster: well-formed, and in agreement with the hub.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { SETTINGS } from '../../cli/serve/setting-table.ts';
import { readSettings } from '../../cli/serve/settings.ts';
import { requireProgram } from '../support/programs.ts';
import { type Manifest, parseManifests, podsOf, ROOT, readDeploy } from './files.ts';
import { findUnknownMembers, lintManifests } from './lint.ts';

const FOLDER = join(ROOT, 'deploy/overlays');
const PAGE = readDeploy('../docs/operations/deploying.md');

type Variable = { readonly name: string; readonly value: string };
type Mount = { readonly name: string; readonly mountPath: string };

function build(overlay: string): string {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(FOLDER, overlay)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`kubectl kustomize: ${stderr}`);
  return stdout;
}

/** Files that a pod finds in its mounts, as the page has their Secret and ConfigMap made. */
function filesOf(manifest: Manifest): string[] {
  const { containers, volumes } = manifest.spec.template.spec;
  return containers[0].volumeMounts.flatMap(({ name, mountPath }: Mount) => {
    const volume = volumes.find((each: { name: string }) => each.name === name);
    const source = volume?.secret?.secretName ?? volume?.configMap?.name;
    if (source === undefined) return [];
    const kind = volume.secret === undefined ? 'configmap' : 'secret generic';
    const made = [...PAGE.matchAll(new RegExp(`create ${kind} ${source} ((?:.*\\\\\\n)*.*)`, 'g'))];
    const keys = made.flatMap(([, command = '']) =>
      [...command.matchAll(/--from-file=(?:([\w.-]+)=)?(\S+)/g)].map(([, key, file]) => key ?? file),
    );
    const shown: string[] = volume.secret?.items?.map(({ key }: { key: string }) => key) ?? keys;
    return shown.filter((key) => keys.includes(key)).map((key) => `${mountPath}/${key}`);
  });
}

describe('the overlays of deploy/', () => {
  before(function () {
    requireProgram(this, 'kubectl', '--help');
  });

  for (const overlay of readdirSync(FOLDER)) {
    it(`include a valid ${overlay} with existing settings`, async () => {
      const text = build(overlay);
      expect([...(await lintManifests(text)), ...findUnknownMembers(text)]).to.deep.equal([]);
      const known = SETTINGS.flatMap(({ env }) => [env, `${env}_FILE`]).concat('HUB_DATA_DIR');
      for (const [name, pod] of podsOf(parseManifests(text))) {
        const [container] = pod.spec.template.spec.containers;
        const variables: Variable[] = container.env;
        const environment = Object.fromEntries(variables.map((each) => [each.name, each.value]));
        expect(known, name).to.include.members(Object.keys(environment));
        if (name === 'hub-gateway') continue; // it has no database
        expect(environment, name).to.include({ HUB_DATABASE_SCHEMA: 'hub' });
        const files = variables.filter((each) => each.name.endsWith('_FILE')).map((each) => each.value);
        expect(filesOf(pod), name).to.include.members([...files, '/run/secrets/database-ca/ca.pem']);
        const address =
          'postgres://hub@db/hub?sslmode=verify-full&sslrootcert=/run/secrets/database-ca/ca.pem';
        const given = Object.entries(environment).filter(([variable]) => !variable.endsWith('_FILE'));
        const direct = 'HUB_DATABASE_DIRECT_URL_FILE' in environment && { HUB_DATABASE_DIRECT_URL: address };
        const read = () =>
          readSettings({}, { ...Object.fromEntries(given), DATABASE_URL: address, ...direct });
        expect(read, name).to.not.throw();
      }
    });
  }
});
