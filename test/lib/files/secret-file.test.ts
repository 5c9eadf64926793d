// Files of secrets: which are read, and which are refused because others could read or replace them.
import { chmod, chown, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readSecretFile } from '../../../lib/files/secret-file.ts';
import { hubctl } from '../../cli/spawn-hubctl.ts';
import { makeDataDir } from '../../support/hub/data-dir.ts';
import { createDatabase } from '../../support/postgres/databases.ts';

describe('a file of secrets', () => {
  let parent: string;
  let directory: string;
  let path: string;
  beforeEach(async () => {
    parent = await makeDataDir();
    directory = join(parent, 'a place');
    await mkdir(directory, { mode: 0o700 });
    path = join(directory, 'secret');
    await writeFile(path, 'content\n', { mode: 0o600 });
  });
  afterEach(() => rm(parent, { recursive: true }));

  const refusal = (file: string): string => {
    try {
      readSecretFile(file, 'token file');
    } catch (error) {
      if (error instanceof Error) return error.message;
    }
    return 'it was read';
  };

  it('is read with mode 0600 or 0400, in a directory that only its owner can write to', async () => {
    for (const [mode, place] of [
      [0o600, 0o700],
      [0o400, 0o755],
    ] as const) {
      await chmod(path, mode);
      await chmod(directory, place);
      expect(readSecretFile(path, 'token file')).to.equal('content\n');
    }
  });

  for (const mode of [0o640, 0o604, 0o620, 0o610, 0o666]) {
    it(`is refused with mode 0${mode.toString(8)}; the error names the mode and a remedy`, async () => {
      await chmod(path, mode);
      expect(refusal(path)).to.equal(
        `token file ${path} is open to other users (mode 0${mode.toString(8)}). Run: chmod 600 '${path}'`,
      );
    });
  }

  it('is refused with more than 1 MiB, so that endless files end', async () => {
    await writeFile(path, Buffer.alloc(2 ** 20));
    expect(readSecretFile(path, 'token file')).to.have.length(2 ** 20);
    await writeFile(path, Buffer.alloc(2 ** 20 + 1));
    expect(refusal(path)).to.equal(`token file ${path} is too large for a secret: it has more than 1 MiB`);
  });

  it('is refused if other users can replace it', async () => {
    for (const mode of [0o770, 0o707]) {
      await chmod(directory, mode);
      expect(refusal(path)).to.equal(
        `the directory of token file ${path} can be changed by other users (mode 0${mode.toString(8)}). ` +
          `Run: chmod go-w '${directory}'`,
      );
    }
    await chmod(directory, 0o1777);
    expect(readSecretFile(path, 'token file')).to.equal('content\n');
  });

  it('behind a link is checked at the link and at its target', async () => {
    const link = join(parent, 'link');
    await symlink(path, link);
    expect(readSecretFile(link, 'token file')).to.equal('content\n');
    await chmod(parent, 0o777);
    expect(refusal(link)).to.contain(`chmod go-w ${parent}`);
    await chmod(parent, 0o700);
    await chmod(directory, 0o777);
    expect(refusal(link)).to.contain(`chmod go-w '${directory}'`);
    await chmod(directory, 0o700);
    await chmod(path, 0o644);
    expect(refusal(link)).to.contain('(mode 0644). Run: chmod 600');
  });

  it('of another user is refused', async function () {
    if (process.geteuid?.() !== 0) return this.skip(); // only root can give a file away
    await chown(path, 12_345, 12_345);
    expect(refusal(path)).to.equal(
      `token file ${path} belongs to user number 12345, who can read it. Run: chown 0 '${path}'`,
    );
    await chown(path, 0, 0);
    await chown(directory, 12_345, 12_345);
    expect(refusal(path)).to.contain(`belongs to user number 12345. Run: chown 0 '${directory}'`);
  });

  it("of root may be readable by the hub's group, but no more", async function () {
    if (process.geteuid?.() !== 0) return this.skip(); // only root can become another user
    const asNobody = (file: string): string => {
      process.setegid?.(23_456);
      process.seteuid?.(12_345);
      try {
        return refusal(file);
      } finally {
        process.seteuid?.(0);
        process.setegid?.(0);
      }
    };
    await chmod(parent, 0o755);
    await chmod(directory, 0o755);
    await chown(path, 0, 23_456);
    for (const mode of [0o440, 0o640]) {
      await chmod(path, mode);
      expect(asNobody(path)).to.equal('it was read');
    }
    for (const mode of [0o460, 0o444, 0o441]) {
      await chmod(path, mode);
      expect(asNobody(path)).to.contain(`(mode 0${mode.toString(8)}). Run: chmod 640 '${path}'`);
    }
    // A hub that runs as root is the owner and needs no group to read its files.
    await chmod(path, 0o640);
    expect(refusal(path)).to.contain('is open to other users (mode 0640)');
  });

  it('that is a directory or missing is reported as such', () => {
    expect(refusal(directory)).to.match(/is not a file|EISDIR/);
    expect(refusal(join(directory, 'none'))).to.contain('ENOENT');
  });

  for (const name of ['master.key', 'admin-token']) {
    it(`prevents the start of a hub if it is the ${name}`, async () => {
      await writeFile(join(directory, name), Buffer.alloc(32, 5).toString('base64'), { mode: 0o600 });
      await chmod(join(directory, name), 0o640);
      const { code, stderr } = await hubctl(['serve', '--port', '0', '--rpc-port', '0'], {
        HUB_DATA_DIR: directory,
        DATABASE_URL: await createDatabase(),
      });
      expect(code).to.equal(1);
      expect(stderr).to.contain(`(mode 0640). Run: chmod 600 '${join(directory, name)}'`);
    });
  }
});
