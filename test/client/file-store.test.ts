// The file that keeps a license.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createFileStore } from '../../client/file-store.ts';

describe('a file store', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-client-'));
    path = join(folder, 'app', 'license');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is empty before the first save, and after clear', async () => {
    const store = createFileStore(path);
    expect(await store.load()).to.equal(undefined);
    await store.clear();
    await store.save('one');
    expect(await createFileStore(path).load()).to.equal('one');
    await store.clear();
    expect(await store.load()).to.equal(undefined);
  });

  it('is readable by its user only', async () => {
    await createFileStore(path).save('one');
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    expect((await stat(join(folder, 'app'))).mode & 0o777).to.equal(0o700);
  });

  it('replaces the file atomically, and leaves no other files', async () => {
    const store = createFileStore(path);
    await store.save('a'.repeat(100_000));
    await Promise.all(['b', 'c', 'd'].map((letter) => store.save(letter.repeat(100_000))));
    expect(await readFile(path, 'utf8')).to.match(/^(b+|c+|d+)$/);
    expect(await readdir(join(folder, 'app'))).to.deep.equal(['license']);
  });

  it('keeps the old text and leaves no other files if the replacement fails', async () => {
    await mkdir(path, { recursive: true }); // a directory is in the way
    const failure = await createFileStore(path)
      .save('one')
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error);
    expect(await readdir(join(folder, 'app'))).to.deep.equal(['license']);
  });

  it('removes temporary files of a killed process, but not those in use', async () => {
    const store = createFileStore(path);
    await store.save('one');
    const app = join(folder, 'app');
    const beside = async () => (await readdir(app)).filter((name) => name !== 'license');
    const program = `
      import { watch } from 'node:fs';
      import { createFileStore } from ${JSON.stringify(new URL('../../client/file-store.ts', import.meta.url))};
      watch(${JSON.stringify(app)}, () => process.kill(process.pid, 'SIGKILL'));
      await createFileStore(${JSON.stringify(path)}).save('x'.repeat(100_000_000));`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
    expect(await once(child, 'exit')).to.deep.equal([null, 'SIGKILL']);
    const [draft = ''] = await beside();
    const account = 'license.4f3c2b1a-0000-4000-8000-0123456789ab'; // a store of its own
    await createFileStore(join(app, account)).save('another one');
    expect(draft, 'it was killed while it saved').to.not.equal('');

    expect(await createFileStore(path).load()).to.equal('one');
    expect(await beside()).to.have.members([draft, account]);
    const longAgo = new Date(Date.now() - 120_000);
    for (const name of [draft, account]) await utimes(join(app, name), longAgo, longAgo);
    expect(await createFileStore(path).load()).to.equal('one');
    expect(await beside()).to.deep.equal([account]);
  });

  it('fails for any error except a missing file', async () => {
    await mkdir(path, { recursive: true });
    const failure = await createFileStore(path)
      .load()
      .catch((error: unknown) => error);
    expect(failure).to.include({ code: 'EISDIR' });
  });
});
