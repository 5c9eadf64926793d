import { expect } from 'chai';
import { LicenseState } from '../../../../../gen/hub/license/v1/license_pb.ts';
import { startHub, type TestHub } from '../../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../../support/hub/license.ts';
import { activate, checkStatus } from '../../../../support/network/rest.ts';
import { query } from '../../../../support/postgres/databases.ts';
import { until } from '../../../../support/until.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');
const DAY_MS = 24 * 60 * 60 * 1000;

describe('ListLicenses', () => {
  let hub: TestHub;
  let now = NOW;
  before(async () => {
    hub = await startHub({ clock: () => now });
  });
  after(() => hub.stop());
  beforeEach(() => {
    now = NOW;
  });

  /** The ids of all pages of one license each. */
  const listed = async (filter: object): Promise<string[]> => {
    const ids: string[] = [];
    let pageToken = '';
    do {
      const page = await hub.admin.listLicenses({ ...filter, pageSize: 1, pageToken });
      ids.push(...page.licenses.map(({ licenseId }) => licenseId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return ids;
  };
  const issue = async (request: object = {}) => (await issueLicense(hub.admin, request)).licenseId;
  const inDays = (days: number) => ({
    seconds: BigInt((NOW.getTime() + days * DAY_MS) / 1000),
    nanos: 0,
  });

  it('filters by customer: id, name, email without regard to case, and reference', async () => {
    const app = await createApp(hub.admin);
    const [one, two] = [
      await issue({ app, customer: 'Ada Lovelace' }),
      await issue({ app, customer: 'Ada Lovelace' }),
    ];
    await issue({ app, customer: 'Bob' });
    const { license } = await hub.admin.getLicense({ licenseId: one });
    const customerId = license?.customerId ?? expect.fail('no customer');
    await query(
      hub.databaseUrl,
      `update customer set email = 'Ada@Example.com', external_ref = 'crm-17' where name = 'Ada Lovelace'`,
    );
    for (const filter of [
      { customerId },
      { customer: 'Ada Lovelace' },
      { customerEmail: 'ada@example.COM' },
      { externalRef: 'crm-17' },
      { customerId, customerEmail: 'ada@example.com', app },
    ]) {
      expect(await listed(filter), JSON.stringify(filter)).to.deep.equal([two, one]);
    }
    for (const filter of [
      { customer: 'Ada' },
      { customerId: 'cus_00000000000000000000000000' },
      { customerId: 'somebody' },
      { customerId, customer: 'Bob' },
      { customer: 'no\0body' },
    ]) {
      expect(await listed(filter), JSON.stringify(filter)).to.deep.equal([]);
    }
  });

  it('filters by state, with grace and suspension', async () => {
    const app = await createApp(hub.admin);
    const perpetual = await issue({ app });
    const lasting = await issue({ app, expiresAt: inDays(400) });
    const expired = await issue({ app, expiresAt: inDays(1) });
    const graced = await issue({ app, expiresAt: inDays(1) });
    const suspended = await issue({ app, expiresAt: inDays(1) });
    const revoked = await issue({ app });
    await hub.admin.updateLicense({
      licenseId: graced,
      updateMask: { paths: ['grace_days'] },
      graceDays: 30,
    });
    await hub.admin.suspendLicense({ licenseId: suspended, reason: 'unpaid' });
    await hub.admin.suspendLicense({ licenseId: revoked, reason: 'unpaid' });
    await hub.admin.revokeLicense({ licenseId: revoked, reason: 'refund' });
    now = new Date(NOW.getTime() + 3 * DAY_MS);
    const states = {
      [LicenseState.ACTIVE]: [lasting, perpetual],
      [LicenseState.GRACE]: [graced],
      [LicenseState.EXPIRED]: [expired],
      [LicenseState.SUSPENDED]: [suspended],
      [LicenseState.REVOKED]: [revoked],
    };
    for (const [state, ids] of Object.entries(states)) {
      expect(await listed({ app, state: Number(state) }), state).to.deep.equal(ids);
    }
  });

  it('lists licenses in grace by expiry, the latest first, whatever the length of their grace', async () => {
    const app = await createApp(hub.admin);
    const graced = async (expiry: number, graceDays: number) => {
      const licenseId = await issue({ app, expiresAt: inDays(expiry) });
      await hub.admin.updateLicense({ licenseId, updateMask: { paths: ['grace_days'] }, graceDays });
      return licenseId;
    };
    const [second, fourth] = [await graced(8, 30), await graced(2, 30)];
    const [first, third] = [await graced(9, 7), await graced(5, 7)];
    await graced(1, 7);
    await graced(11, 7);
    now = new Date(NOW.getTime() + 10 * DAY_MS);
    expect(await listed({ app, state: LicenseState.GRACE })).to.deep.equal([first, second, third, fourth]);
  });

  it('filters by expiry, the latest expiry first', async () => {
    const app = await createApp(hub.admin);
    const [late, soon, same] = [
      await issue({ app, expiresAt: inDays(300) }),
      await issue({ app, expiresAt: inDays(10) }),
      await issue({ app, expiresAt: inDays(10) }),
    ];
    await issue({ app });
    expect(await listed({ app, expiresBefore: inDays(301) })).to.deep.equal([late, same, soon]);
    expect(await listed({ app, expiresBefore: inDays(300) })).to.deep.equal([same, soon]);
    expect(await listed({ app, expiresAfter: inDays(10) })).to.deep.equal([late, same, soon]);
    expect(await listed({ app, expiresAfter: inDays(11), expiresBefore: inDays(301) })).to.deep.equal([late]);
  });

  it('continues lists before 1970, which imported licenses reach', async () => {
    const app = await createApp(hub.admin);
    const ids = [await issue({ app }), await issue({ app }), await issue({ app })];
    await query(
      hub.databaseUrl,
      `update license set expires_at = '1960-01-01' from app where app.id = app_id and slug = $1`,
      [app],
    );
    expect(await listed({ app, state: LicenseState.EXPIRED })).to.deep.equal(ids.toReversed());
  });

  it('filters by activity, the latest first: an activation and a soft check count once a day', async () => {
    const app = await createApp(hub.admin);
    const [one, two] = [await issueLicense(hub.admin, { app }), await issueLicense(hub.admin, { app })];
    const never = await issue({ app });
    await activate(hub.gatewayUrl, one.licenseKey, 'a');
    await activate(hub.gatewayUrl, two.licenseKey, 'a');
    now = new Date('2026-05-03T00:01:00.000Z');
    await checkStatus(hub.gatewayUrl, two.licenseId, 'a');
    const lastActive = async (licenseId: string) =>
      (await hub.admin.getLicense({ licenseId })).license?.lastActiveOn;
    await until(async () => (await lastActive(two.licenseId)) === '2026-05-03', 'the day is noted');
    expect(await lastActive(one.licenseId)).to.equal('2026-05-01');
    expect(await lastActive(never)).to.equal(undefined);
    expect(await listed({ app, activeSince: '2026-05-01' })).to.deep.equal([two.licenseId, one.licenseId]);
    expect(await listed({ app, activeSince: '2026-05-02' })).to.deep.equal([two.licenseId]);
    expect(await listed({ app, inactiveSince: '2026-05-03' })).to.deep.equal([one.licenseId, never]);
    expect(await listed({ app, inactiveSince: '2026-05-01' })).to.deep.equal([never]);
    expect(await listed({ app, inactiveSince: '2026-02-31' })).to.deep.equal([never]);
  });

  it('filters by all given entries of metadata', async () => {
    const app = await createApp(hub.admin);
    const [one, two] = [await issue({ app }), await issue({ app })];
    await hub.admin.updateLicense({ licenseId: one, setMetadata: { order: '17', plan: 'gold' } });
    await hub.admin.updateLicense({ licenseId: two, setMetadata: { order: '18', plan: 'gold' } });
    expect(await listed({ app, metadata: { plan: 'gold' } })).to.deep.equal([two, one]);
    expect(await listed({ app, metadata: { plan: 'gold', order: '17' } })).to.deep.equal([one]);
    expect(await listed({ app, metadata: { plan: 'gol' } })).to.deep.equal([]);
  });

  it('searches ids, key hints, customers and metadata; short texts only whole names', async () => {
    const app = await createApp(hub.admin);
    const one = await issueLicense(hub.admin, { app, customer: 'Grace Hopper' });
    const two = await issueLicense(hub.admin, { app, customer: 'Al' });
    await query(
      hub.databaseUrl,
      `update customer set email = 'rear.admiral@navy.example' where name = 'Grace Hopper'`,
    );
    await hub.admin.updateLicense({ licenseId: two.licenseId, setMetadata: { order: 'PO-Häfen_100%' } });
    const [first, second] = [[one.licenseId], [two.licenseId]];
    for (const [search, found] of [
      [one.licenseId, first],
      [one.licenseKey.slice(-5).toLowerCase(), first],
      ['e hop', first],
      ['ADMIRAL@', first],
      ['häfen', second],
      ['100%', second],
      ['0%', []],
      ['al', []],
      ['Al', second],
      ['hopper grace', []],
      ['nobody', []],
      ['  ', []],
    ] as const) {
      expect(await listed({ app, search }), search).to.deep.equal(found);
    }
  });

  it('finds all licenses of a search, a name and metadata that match many', async () => {
    const app = await createApp(hub.admin);
    await insertMany(hub.databaseUrl, app, 1_050);
    for (const filter of [
      { customer: 'Namesake' },
      { search: 'namesa' },
      { search: 'requen' },
      { metadata: { batch: 'frequent' } },
    ]) {
      expect(new Set(await pagesOf(filter)), JSON.stringify(filter)).to.have.property('size', 1_050);
    }
    const { license } = await hub.admin.getLicense({ licenseId: (await pagesOf({ app }))[0] ?? '' });
    const { customerId = '', licenseId = '' } = license ?? {};
    const { search, metadata } = { search: 'namesa', metadata: { batch: 'frequent' } };
    expect(await listed({ app, customerId, search, metadata, keyHint: 'XXXXX' })).to.deep.equal([licenseId]);
    expect(await listed({ search, metadata, customerId, customer: 'Bob' })).to.deep.equal([]);
  });

  /** The ids of all pages. */
  const pagesOf = async (filter: object): Promise<string[]> => {
    const ids: string[] = [];
    let pageToken = '';
    do {
      const page = await hub.admin.listLicenses({ ...filter, pageSize: 500, pageToken });
      ids.push(...page.licenses.map(({ licenseId }) => licenseId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return ids;
  };
});

/** Inserts licenses with one customer each, who all have the same name. */
async function insertMany(databaseUrl: string, app: string, count: number): Promise<void> {
  await query(
    databaseUrl,
    `with made as (
       insert into customer (id, name, created_at)
       select gen_random_uuid(), 'Namesake', now() from generate_series(1, $2::int) returning id
     )
     insert into license (id, app_id, key_hash, key_hint, customer_id, seat_limit, created_at, metadata)
     select gen_random_uuid(), a.id, sha256(m.id::text::bytea), 'XXXXX', m.id, 1, now(), '{"batch": "frequent"}'
     from made m, app a where a.slug = $1`,
    [app, count],
  );
}
