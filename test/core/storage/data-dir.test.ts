// The data directory: its files, their permissions, and their removal.
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DataDirError, openDataDir } from '../../../core/storage/data-dir.ts';
import { processPlace } from '../../../lib/process-place.ts';

describe('the data directory', () => {
  let parent: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'hub-test-'));
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

  it('is created with its parents, and only its owner can list it', async () => {
    const { path } = await openDataDir(join(parent, 'a/b'));
    expect((await modeOf(path)) & 0o066).to.equal(0);
  });

  it('is refused with a remedy if it cannot be created', async () => {
    await writeFile(join(parent, 'file'), '');
    for (const path of ['/proc/hub', '/proc/hub/data', join(parent, 'file'), join(parent, 'file/data')]) {
      const refused = await openDataDir(path).catch((error: unknown) => error);
      expect(refused, path)
        .to.be.instanceOf(DataDirError)
        .with.property('message')
        .that.contains('--data-dir');
    }
  });

  it('keeps an existing directory unchanged', async () => {
    await chmod(parent, 0o750);
    await writeFile(join(parent, 'kept'), 'x');
    await openDataDir(parent);
    expect(await modeOf(parent)).to.equal(0o750);
    expect(await readdir(parent)).to.deep.equal(['kept']);
  });

  it('stores the admin token with mode 0600, even if the file was open to others', async () => {
    const file = join(parent, 'admin-token');
    await writeFile(file, 'old', { mode: 0o644 });
    const dataDir = await openDataDir(parent);
    await dataDir.writeAdminToken('hub_new');
    expect(await readFile(file, 'utf8')).to.equal('hub_new\n');
    expect(await modeOf(file)).to.equal(0o600);
    expect(await dataDir.readAdminToken()).to.equal('hub_new');
  });

  it('has no admin token at first', async () => {
    expect(await (await openDataDir(parent)).readAdminToken()).to.equal(undefined);
  });

  it('announces the hub in hub.json until withdrawn, and leaves no temporary files', async () => {
    const dataDir = await openDataDir(parent);
    const hub = {
      pid: process.pid,
      place: processPlace(),
      rpc: 'http://127.0.0.1:5100',
      gateway: 'http://127.0.0.1:5099',
    };
    await dataDir.announce(hub);
    expect(await readdir(parent)).to.deep.equal(['hub.json']);
    expect(JSON.parse(await readFile(join(parent, 'hub.json'), 'utf8'))).to.deep.equal(hub);
    expect(await modeOf(join(parent, 'hub.json'))).to.equal(0o600);
    await dataDir.withdraw();
    await dataDir.withdraw();
    expect(await readdir(parent)).to.deep.equal([]);
  });

  it('keeps the announcement of another process', async () => {
    const dataDir = await openDataDir(parent);
    const others = [
      { pid: process.pid + 1, place: processPlace() },
      { pid: process.pid, place: '00000000' }, // as in another container
    ];
    for (const other of others) {
      await dataDir.announce(other);
      await dataDir.withdraw();
      expect(await readdir(parent)).to.deep.equal(['hub.json']);
    }
  });

  it('keeps a damaged hub.json on withdrawal, without an error', async () => {
    const dataDir = await openDataDir(parent);
    for (const content of ['', '{"pid":', 'null', '[]']) {
      await writeFile(join(parent, 'hub.json'), content);
      await dataDir.withdraw();
      expect(await readFile(join(parent, 'hub.json'), 'utf8')).to.equal(content);
    }
  });
});
