// PostgreSQL binaries: those of the package where they can be used, a copy where they cannot.

import { chmod, cp, lstat, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { unprivilegedAccount } from '../../../../core/storage/embedded-postgres/account.ts';
import { packagedBinaries, usableBinaries } from '../../../../core/storage/embedded-postgres/binaries.ts';
import { runCommand } from '../../../../core/storage/embedded-postgres/run-command.ts';

describe('PostgreSQL binaries', () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'hub-binaries-'));
    await chmod(home, 0o711);
  });
  afterEach(() => rm(home, { recursive: true }));

  it('are copied once, with links between libraries, if those of the package do not run', async () => {
    const account = await unprivilegedAccount();
    const packaged = await packagedBinaries();
    const root = join(home, 'package');
    await cp(packaged.root, root, { recursive: true, filter: isNoLink });
    await chmod(root, 0o700); // as in a checkout under /root

    const usable = await usableBinaries({ ...packaged, root }, home, account);
    expect(usable.root).to.equal(join(home, `binaries-${packaged.version}`));
    const { ok, output } = await runCommand(join(usable.root, 'bin/initdb'), ['--version'], { account });
    expect({ ok, output }, output).to.deep.include({ ok: true });

    const { ino } = await stat(usable.root);
    expect(await usableBinaries({ ...packaged, root }, home, account)).to.deep.equal(usable);
    expect((await stat(usable.root)).ino, 'the directory of the copy').to.equal(ino);

    await truncate(join(usable.root, 'bin/postgres'), 1000); // as a crash may leave it
    expect(await usableBinaries({ ...packaged, root }, home, account)).to.deep.equal(usable);
    expect((await readdir(home)).sort()).to.deep.equal([`binaries-${packaged.version}`, 'package']);
  });

  it('are reported as missing, with a remedy, on an unsupported platform', async () => {
    const error = await packagedBinaries('plan9-mips').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('set DATABASE_URL');
  });
});

async function isNoLink(path: string): Promise<boolean> {
  return !(await lstat(path)).isSymbolicLink();
}
