// hubctl key import: CSV, JSON, profiles, errors by line.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { activate } from '../../support/network/rest.ts';
import { hubctlHere } from '../run-here.ts';
import { ended, start } from '../spawn-hubctl.ts';

describe('hubctl key import', () => {
  let app: string;
  let hub: TestHub;
  let dir: string;
  const env = () => ({ HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const importText = async (content: string | Buffer, ...args: string[]) => {
    const file = join(dir, `${randomUUID()}.csv`);
    await writeFile(file, content);
    return hubctlHere(['key', 'import', '--app', app, file, ...args], env());
  };
  const licenses = async () => (await hub.admin.listLicenses({ app })).licenses.toReversed();

  before(async () => {
    hub = await startHub();
    dir = await mkdtemp(join(tmpdir(), 'hubctl-import-'));
  });
  after(async () => {
    await hub.stop();
    await rm(dir, { recursive: true });
  });
  beforeEach(async () => {
    app = `app-${randomUUID().slice(0, 8)}`;
    await hub.admin.createApp({ slug: app });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 10n } });
  });

  it('imports a CSV file with any line ends, separators, case and quotes', async () => {
    const key = (n: number) => `${app}-0000-0000-000${n}`;
    const semicolons =
      '\uFEFFLicenseKey;SEATS;Customer;email;expires_at;Limits;features;metadata.plan;profile\r\n' +
      `${key(1)};2;"Lovelace; Ada ""Countess""";ada@${app}.example;2031-12-31;projects=5 files=unlimited;sync,export;Gold;pro\r\n` +
      `\r\n${key(2)};unlimited;;;;;;;\r\n`;
    const { code, stdout, stderr } = await importText(semicolons, '--output', 'json');
    expect(stderr).to.equal('');
    expect(code).to.equal(0);
    expect(JSON.parse(stdout)).to.deep.equal({ imported: 2, customersCreated: 1, errors: [] });
    const [first, second] = await licenses();
    expect(first).to.deep.include({
      customer: 'Lovelace; Ada "Countess"',
      limits: { projects: 5n, files: -1n },
      features: ['export', 'sync'],
      metadata: { plan: 'Gold' },
      limitProfile: 'pro',
    });
    expect(first?.expiresAt?.seconds).to.equal(BigInt(Date.parse('2031-12-31T23:59:59Z') / 1000));
    expect(second?.seats?.limit).to.equal(-1);
    const tabs = await importText(`licensekey\trevoked\n${key(3)}\tyes\n`);
    expect(tabs.stdout).to.match(/Licenses imported +1/);
    expect((await activate(hub.gatewayUrl, key(1).toUpperCase(), 'm')).status).to.equal(200);
  });

  it('reads standard input', async () => {
    const run = start(['key', 'import', '--app', app, '-', '--output', 'json'], env(), 'pipe');
    run.stdin?.end(`licenseKey\n${app}-STDIN-000000\n`);
    const { code, stdout } = await ended(run);
    expect([code, JSON.parse(stdout).imported]).to.deep.equal([0, 1]);
  });

  it('prints the errors of the file and of the hub by line, and imports nothing', async () => {
    const file =
      `licenseKey,seats,expiresAt\nshort,1,\n${app}-GOOD-0000,0,soon\n${app}-GOOD-0001,1,\n${app}-good-0001,1,\n`.replace(
        /app.*GOOD/g,
        (key) => key.toUpperCase(),
      );
    const json = await importText(file, '--output', 'json');
    expect(json.code).to.equal(1);
    const { imported, errors } = JSON.parse(json.stdout);
    expect(imported).to.equal(0);
    expect(errors.map((each: { line: number; field: string }) => `${each.line} ${each.field}`)).to.deep.equal(
      ['2 licenseKey', '3 seats', '3 expiresAt', '5 licenseKey'],
    );
    expect(JSON.parse(json.stderr).error.code).to.equal('import_refused');
    const table = await importText(file);
    expect(table.stdout).to.match(/^LINE {2}COLUMN +PROBLEM\n +2 {2}licenseKey .*--allow-short/);
    expect(table.stderr).to.include('3 of 4 lines cannot be imported; nothing was imported.');
    expect(await licenses()).to.have.length(0);
  });

  it('names the columns that it does not know, and maps or ignores them', async () => {
    const file = `Key,Order no,Notes\n${app}-0000-0000-0001,A-1,hello\n`;
    const unknown = await importText(file);
    expect(unknown.code).to.equal(2);
    expect(unknown.stderr)
      .to.include('"Key", "Order no", "Notes"')
      .and.to.include('licenseKey, seats, profile');
    const maps = ['--map', 'key=licenseKey', '--map', 'Order no=metadata.order', '--map', 'Notes=-'];
    expect((await importText(file, ...maps)).code).to.equal(0);
    const [license] = await licenses();
    expect(license?.metadata).to.deep.equal({ order: 'A-1' });
    expect((await importText(file, '--map', 'nothing=seats')).stderr).to.include('no column "nothing"');
    expect((await importText(file, '--map', 'Key=nothing')).stderr).to.include('no field nothing');
    expect((await importText('seats\n1\n')).stderr).to.include('No column has the license keys.');
    expect((await importText('licenseKey\n"open\n')).code).to.equal(2);
    expect((await importText('')).code).to.equal(2);
  });

  it('refuses a file that is not UTF-8, and names the line', async () => {
    const file = `licenseKey,customer\n${app}-0000-0000-0001,Ada\n${app}-0000-0000-0002,André\n`;
    const latin1 = await importText(Buffer.from(file, 'latin1'));
    expect(latin1.code).to.equal(2);
    expect(latin1.stderr).to.include('line 3: this is not UTF-8.');
    const utf16 = await importText(Buffer.from(`\uFEFF${file}`, 'utf16le'));
    expect(utf16.stderr).to.include('line 1: this is not UTF-8.');
    expect(await licenses()).to.have.length(0);
    expect((await importText(file)).code).to.equal(0);
  });

  it('refuses two columns for the same field, of which one would be lost', async () => {
    const file = `licenseKey,customer,Client\n${app}-0000-0000-0001,Ada,Grace\n`;
    const { code, stderr } = await importText(file, '--map', 'Client=customer');
    expect(code).to.equal(2);
    expect(stderr).to.include('The columns "customer" and "Client" both set customer.');
    expect((await importText(file, '--map', 'Client=customer', '--map', 'customer=-')).code).to.equal(0);
    const [license] = await licenses();
    expect(license?.customer).to.equal('Grace');
  });

  it('imports nothing in a dry run', async () => {
    const { code, stdout } = await importText(`licenseKey\n${app}-0000-0000-0001\n`, '--dry-run');
    expect(code).to.equal(0);
    expect(stdout).to.match(/Licenses to import +1/);
    expect(await licenses()).to.have.length(0);
  });

  it('imports the licenses that Keygen lists', async () => {
    const item = (key: string, attributes: object, user: string | null) => ({
      id: randomUUID(),
      type: 'licenses',
      attributes: {
        name: 'A license',
        key,
        expiry: '2031-09-09T22:51:14.000Z',
        status: 'ACTIVE',
        uses: 0,
        suspended: false,
        maxMachines: 5,
        metadata: { plan: 'team', nested: { a: 1 } },
        created: '2021-09-09T22:51:14.000Z',
        updated: '2021-09-09T22:51:14.000Z',
        ...attributes,
      },
      relationships: { owner: { data: user === null ? null : { type: 'users', id: user } } },
    });
    const data = [
      item(`${app}-C1B6DE-39A6E3-V3`, {}, `${app}-user`),
      item(
        `${app}-C1B6DE-39A6E4-V3`,
        { status: 'SUSPENDED', suspended: true, maxMachines: null, expiry: null },
        null,
      ),
    ];
    const json = await importText(JSON.stringify({ data }), '--source', 'keygen');
    expect([json.code, json.stderr]).to.deep.equal([0, '']);
    const [active, suspended] = await licenses();
    expect(active).to.deep.include({ state: LicenseState.ACTIVE, customer: `${app}-user` });
    expect(active?.seats?.limit).to.equal(5);
    expect(active?.metadata).to.include({ plan: 'team', name: 'A license' });
    expect(active?.createdAt?.seconds).to.equal(BigInt(Date.parse('2021-09-09T22:51:14Z') / 1000));
    expect(suspended?.state).to.equal(LicenseState.REVOKED);
    expect(suspended?.seats?.limit).to.equal(-1);
    const csv = await importText(
      `id,name,key,expiry,status,max_machines,email\n1,N,${app}-CSV-0000-V3,,BANNED,3,a@${app}.example\n`,
      '--source',
      'keygen',
    );
    expect(csv.code).to.equal(0);
    expect((await licenses())[2]).to.include({ state: LicenseState.REVOKED, customer: `a@${app}.example` });
  });

  it('ignores columns of an export that are named like members of every object', async () => {
    const header = 'key,constructor,__proto__,hasOwnProperty,toString,metadata.constructor';
    const { code, stderr } = await importText(
      `${header}\n${app}-CSV-0000-V3,a,b,c,d,kept\n`,
      '--source',
      'keygen',
    );
    expect([code, stderr]).to.deep.equal([0, '']);
    const [license] = await licenses();
    expect(license?.metadata).to.deep.equal({ constructor: 'kept' });
  });

  it('imports the license keys that Cryptolens lists', async () => {
    const key = {
      productId: 3349,
      id: 4,
      key: 'GEBNC-WZZJD-VJIHG-GCMVD',
      created: '2018-11-18T00:00:00',
      expires: '2031-12-20T00:00:00',
      period: 30,
      f1: true,
      f2: false,
      f3: true,
      notes: 'two\nlines',
      block: false,
      globalId: 31876,
      customer: {
        id: 7,
        name: 'Ada',
        email: 'ada@cryptolens.example',
        companyName: 'Engines',
        created: '2018-01-01T00:00:00',
      },
      activatedMachines: [{ mid: 'x', ip: '::1' }],
      trialActivation: false,
      maxNoOfMachines: 0,
      allowedMachines: [],
      dataObjects: [],
    };
    const blocked = {
      ...key,
      key: 'GEBNC-WZZJD-VJIHG-GCMVE',
      block: true,
      customer: null,
      maxNoOfMachines: 2,
    };
    const file = JSON.stringify({ licenseKeys: [key, blocked], returned: 2, total: 2, result: 0 });
    const { code, stderr } = await importText(file, '--source', 'cryptolens');
    expect([code, stderr]).to.deep.equal([0, '']);
    const [first, second] = await licenses();
    expect(first).to.deep.include({ customer: 'Ada', features: ['f1', 'f3'], state: LicenseState.ACTIVE });
    expect(first?.metadata).to.deep.equal({ notes: 'two lines', cryptolensId: '31876' });
    expect([first?.seats?.limit, second?.seats?.limit]).to.deep.equal([-1, 2]);
    expect(second?.state).to.equal(LicenseState.REVOKED);
    const table =
      'ID,Key,Created,Expires,F1,Notes,Block,MaxNoOfMachines\n5,GEBNC-WZZJD-VJIHG-GCMVF,2018-11-18,2031-12-20,True,,False,1\n';
    expect((await importText(table, '--source', 'cryptolens', '--map', 'expires=-')).code).to.equal(0);
    const [, , third] = await licenses();
    expect(third?.expiresAt).to.equal(undefined);
    expect(third?.features).to.deep.equal(['f1']);
  });
});
