// The contract as others use it: from an empty folder, by the configurations in proto/README.md.
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { fencedBlocks, ROOT, readPage } from '../../docs/markdown.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';

const REPOSITORY = fileURLToPath(ROOT);
const PROTO = join(REPOSITORY, 'proto');
const [TYPESCRIPT = '', GO = '', PYTHON = '', WORKSPACE = ''] = fencedBlocks(
  readPage('proto/README.md'),
  'yaml',
);
const [CLIENT = ''] = fencedBlocks(readPage('docs/rpc.md'), 'ts');
const run = promisify(execFile);

describe('the contract as a module', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-module-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  describe('in TypeScript', () => {
    let hub: TestHub;

    before(async () => {
      hub = await startHub();
    });

    after(() => hub.stop());

    it('compiles with the client of docs/rpc.md, which then calls a hub', async () => {
      await buf('generate', '--template', await template(fromFolder(TYPESCRIPT)));
      await write('package.json', '{"type": "module"}');
      await write('client.ts', CLIENT);
      await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
      const options = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node', '--strict'];
      await run('node_modules/.bin/tsc', ['client.ts', '--outDir', 'out', ...options], { cwd: folder });
      await hub.admin.createApp({ slug: 'demo' });
      const env = { ...process.env, HUB_RPC_URL: hub.rpcUrl, TOKEN: hub.token };
      const { stdout } = await run(process.execPath, ['out/client.js'], { cwd: folder, env });
      expect(stdout).to.match(/^([0-9A-Z]{5}-){4}[0-9A-Z]{5}\napp_unknown\n$/);
    });

    it('generates every file from a clone of the repository', async () => {
      await buf('generate', '--template', await template(fromClone(TYPESCRIPT)));
      const files = [
        'buf/validate/validate.proto',
        ...(await filesIn(join(PROTO, 'hub'))).map((file) => `hub/${file}`),
      ];
      expect(await filesIn('gen')).to.have.members(files.map((file) => file.replace('.proto', '_pb.ts')));
    });
  });

  itWith('generates Go that imports protovalidate', 'protoc-gen-go-grpc')(
    'generates Go that imports protovalidate',
    async () => {
      await buf('generate', '--template', await template(fromFolder(GO)));
      const code = await readFile(join(folder, 'gen/hub/license/v1/license_service.pb.go'), 'utf8');
      expect(code).to.match(/_ "buf\.build\/gen\/go\/bufbuild\/protovalidate\/.*\/validate"/);
      expect(code).to.include('"example.com/shop/gen/hub/error/v1"');
      expect(await filesIn('gen')).to.include('hub/license/v1/license_service_grpc.pb.go');
    },
  );

  itWith('protoc', 'grpc_python_plugin')('generates Python', async () => {
    await buf('generate', '--template', await template(fromFolder(PYTHON)));
    expect(await filesIn('gen')).to.include.members([
      'hub/license/v1/license_admin_service_pb2.py',
      'hub/license/v1/license_admin_service_pb2_grpc.py',
      'buf/validate/validate_pb2.py',
    ]);
  });

  describe('in a workspace with protovalidate', () => {
    /** A copy of the part that is here, under its name, stands in for what buf would fetch. */
    const withStandIn = WORKSPACE.replace(
      'deps:',
      '  - path: fetched\n    name: buf.build/bufbuild/protovalidate\ndeps:',
    );

    beforeEach(async () => {
      await cp(PROTO, join(folder, 'vendor/hub'), { recursive: true });
      await cp(join(PROTO, 'buf'), join(folder, 'fetched/buf'), { recursive: true });
      await mkdir(join(folder, 'schemas'));
      await write(
        'schemas/shop.proto',
        `syntax = "proto3";
        package shop.v1;
        import "buf/validate/validate.proto";
        import "hub/license/v1/license.proto";
        message Order {
          string id = 1 [(buf.validate.field).string.max_len = 9];
          hub.license.v1.License license = 2;
        }`,
      );
    });

    it('compiles with schemas that use both', async () => {
      await write('buf.yaml', withStandIn);
      await buf('build');
    });

    it('must omit its own part of it', async () => {
      await write('buf.yaml', withStandIn.replace(/ +excludes:.*\n/, ''));
      const refused = await buf('build').catch(({ stderr }) => stderr);
      expect(refused).to.match(/buf\/validate\/validate\.proto is contained in multiple modules/);
    });
  });

  it("has the project's license", async () => {
    const [ours, modules] = ['LICENSE', 'proto/LICENSE'].map(readPage);
    expect(modules).to.equal(ours);
  });

  function buf(...args: string[]): Promise<unknown> {
    const PATH = `${join(REPOSITORY, 'node_modules/.bin')}:${process.env['PATH']}`;
    return run('buf', args, { cwd: folder, env: { ...process.env, PATH } });
  }

  async function template(yaml: string): Promise<string> {
    await write('buf.gen.yaml', yaml);
    return 'buf.gen.yaml';
  }

  function write(name: string, text: string): Promise<void> {
    return writeFile(join(folder, name), text);
  }

  async function filesIn(name: string): Promise<string[]> {
    const path = resolve(folder, name);
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map((entry) => relative(path, join(entry.parentPath, entry.name)));
  }
});

/** The directory layout that the README's comments describe. */
function fromFolder(yaml: string): string {
  return yaml
    .replace(/git_repo: \S+/, `directory: ${PROTO}`)
    .replace(/ +subdir: .*\n/, '')
    .replace('paths: [hub]', `paths: [${PROTO}/hub]`);
}

/** What is committed. */
function fromClone(yaml: string): string {
  return yaml.replace(/git_repo: \S+/, `git_repo: file://${REPOSITORY}`);
}

/** Plugins of other languages come with them. */
function itWith(...programs: string[]): Mocha.TestFunction | Mocha.PendingTestFunction {
  return programs.every((program) => spawnSync(program, ['--version']).error === undefined) ? it : it.skip;
}
