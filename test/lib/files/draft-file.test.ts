// Drafts: removed with their process, and never while another process writes them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { sweepDrafts, withDraft } from '../../../lib/files/draft-file.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';

describe('a temporary file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await makeDataDir();
  });
  afterEach(() => discard(directory));

  /** A draft as this process names it, but of another process, or of another place. */
  async function leave(pid: number, place?: string): Promise<string> {
    const mine = await withDraft(join(directory, 'ring'), async (draft) => basename(draft));
    const [, base, own] = /^(.*)\.([0-9a-f]{8})-\d+-[0-9a-f]{8}\.part$/.exec(mine) ?? [];
    const name = `${base}.${place ?? own}-${pid}-0123abcd.part`;
    await writeFile(join(directory, name), 'secret');
    return name;
  }

  it('gets its final name when it is complete, and is removed on failure', async () => {
    const path = join(directory, 'file');
    await withDraft(path, async (draft) => {
      await writeFile(draft, 'whole');
      await rename(draft, path);
    });
    const failed = await withDraft(path, async (draft) => {
      await writeFile(draft, 'half');
      throw new Error('no room');
    }).catch((error: Error) => error.message);
    expect(failed).to.equal('no room');
    expect(await readdir(directory)).to.deep.equal(['file']);
  });

  it('of a killed process is removed, even if this process has the same number', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    await once(child, 'exit');
    await leave(child.pid ?? 0);
    await leave(process.pid);
    await sweepDrafts(directory);
    expect(await readdir(directory)).to.deep.equal([]);
  });

  it('of a live process, of this one, or of another machine stays, like all other files', async () => {
    const kept = [await leave(process.ppid), await leave(2 ** 30, '00000000'), 'ring.part', 'ring.4711.part'];
    for (const name of kept.slice(2)) await writeFile(join(directory, name), '');
    await withDraft(join(directory, 'ring'), async (draft) => {
      await writeFile(draft, 'secret');
      await sweepDrafts(directory);
      expect(await readdir(directory)).to.have.members([...kept, basename(draft)]);
    });
    expect(await readdir(directory)).to.have.members(kept);
  });
});
