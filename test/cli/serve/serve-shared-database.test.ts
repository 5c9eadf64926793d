// Hubs on a database that is not theirs alone: started together and kept to one master key.
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub } from '../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { activate } from '../../support/network/rest.ts';
import { createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { hubctl } from '../spawn-hubctl.ts';

describe('hubs on one database', () => {
  let databaseUrl: string;
  let dataDirs: string[];
  let hubs: HubProcess[];
  before(async () => {
    databaseUrl = await createMigratedDatabase();
    dataDirs = await Promise.all([makeDataDir(), makeDataDir()]);
    const settings = { HUB_DATA_DIR: dataDirs[0] ?? '', DATABASE_URL: databaseUrl };
    hubs = await Promise.all([spawnHub(settings), spawnHub(settings)]);
  });
  after(async () => {
    await Promise.all((hubs ?? []).map((hub) => hub.stop()));
    await Promise.all(dataDirs.map(discard));
  });

  it('start at the same time with one master key and one schema', async () => {
    const names = await query<{ name: string }>(databaseUrl, 'select name from hub_migration');
    expect(new Set(names.map(({ name }) => name)).size)
      .to.equal(names.length)
      .and.above(0);
    expect(await query(databaseUrl, 'select from master_key_use')).to.have.length(1);
    // Whether a hub has noted the head of the audit chain already is a matter of moments.
    const files = (await readdir(dataDirs[0] ?? '')).filter((name) => !name.startsWith('audit-head'));
    expect(files).to.have.members(['admin-token', 'hub.json', 'master.key']);
  });

  it('serve the same licenses, and count their seats together', async () => {
    const beside = await startHub({
      settings: { databaseUrl, masterKeyFile: `${dataDirs[0]}/master.key` },
    });
    const { licenseKey } = await issueLicense(beside.admin, { seatLimit: 2 });
    await beside.stop();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        activate(hubs[index % 2]?.gatewayUrl ?? '', licenseKey, `machine-${index}`),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 409, 409, 409, 409]);
  });

  it('refuse another master key, and never print the password of an unreachable database', async () => {
    const key = randomBytes(32).toString('base64');
    const start = (env: Record<string, string>) =>
      hubctl(['serve', '--port', '0', '--rpc-port', '0'], { HUB_DATA_DIR: dataDirs[1] ?? '', ...env });
    const [stranger, lost] = await Promise.all([
      start({ DATABASE_URL: databaseUrl, HUB_MASTER_KEY: key }),
      start({ DATABASE_URL: 'postgres://hub:correct-horse@127.0.0.1:1/hub', HUB_MASTER_KEY: key }),
    ]);
    expect(stranger.code).to.equal(1);
    expect(stranger.stderr).to.match(
      /^hubctl: the secrets in this database are encrypted with master key [0-9a-f]{16}, and this hub has [0-9a-f]{16}: set HUB_MASTER_KEY_FILE to .*\n$/,
    );
    expect(stranger.stderr).not.to.contain(key);
    expect({ code: lost.code, stderr: lost.stderr }).to.deep.equal({
      code: 1,
      stderr: 'hubctl: no database at postgres://hub@127.0.0.1:1/hub: connect ECONNREFUSED 127.0.0.1:1\n',
    });
  });
});
