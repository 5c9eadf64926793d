import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { parseId } from '../../../core/ids.ts';
import { createExpiryEvents, recordPassedEnds } from '../../../core/license/expiry-events.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { query, waitsForLock, withClient } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { eventClient, eventsOf } from '../event/event-scene.ts';

const DAY_MS = 86_400_000;

describe('events of expiries', () => {
  let hub: TestHub;
  let pool: pg.Pool;
  let app: string;
  /** Far from the hub's own clock, whose passes find nothing then. */
  let now = Date.now() + 1_000 * DAY_MS;
  before(async () => {
    hub = await startHub();
    app = await createApp(hub.admin);
    pool = new pg.Pool({ connectionString: hub.databaseUrl, max: 4 });
  });
  after(async () => {
    await pool.end();
    await hub.stop();
  });

  const pass = (): Promise<void> => createExpiryEvents({ pool, clock: () => new Date(now) })();
  /** Two hubs at once. */
  const passTwice = () => Promise.all([pass(), pass()]);
  const at = (ms: number) => ({ seconds: BigInt(Math.floor(ms / 1_000)), nanos: 0 });
  const issue = async (expiresInDays: number, more: object = {}): Promise<string> => {
    const expiresAt = at(now + expiresInDays * DAY_MS);
    const { licenses } = await hub.admin.issueLicenses({ app, seatLimit: 1, expiresAt, ...more });
    return licenses[0]?.license?.licenseId ?? '';
  };
  const typesOf = async (licenseId: string, count: number) => {
    // An event that follows those of the passes.
    await hub.admin.suspendLicense({ licenseId, reason: 'last' });
    const found = await eventsOf(eventClient(hub), licenseId, count + 1);
    return found.map(({ type }) => type).slice(1, -1);
  };

  it('announce nothing that was before the first pass', async () => {
    const past = await issue(-3);
    const soon = await issue(10);
    // The hub's own first pass made this mark. Delete it last, because a later pass of the hub makes it again.
    await query(hub.databaseUrl, 'delete from license_expiry_mark');
    await passTwice();
    expect(await typesOf(past, 1)).to.deep.equal([]);
    expect(await typesOf(soon, 1)).to.deep.equal([]);
  });

  it('are recorded once, 14 days before and after the grace, and again after a renewal', async () => {
    const licenseId = await issue(20, { graceDays: 3 });
    const revoked = await issue(20);
    await hub.admin.revokeLicense({ licenseId: revoked, reason: 'test' });
    /** After so many days, at the end of a pass of two hubs. */
    const typesAfter = async (days: number): Promise<string[]> => {
      now += days * DAY_MS;
      await passTwice();
      const rows = await query<{ type: string }>(
        hub.databaseUrl,
        `select type from event where object_id = $1
         union all select type from event_outbox where $1 = any(object_ids)`,
        [parseId('lic', licenseId)],
      );
      return rows.map(({ type }) => type).filter((type) => type !== 'license.issued');
    };
    expect(await typesAfter(5)).to.deep.equal([]);
    expect(await typesAfter(1.5)).to.deep.equal(['license.expiring']);
    expect(await typesAfter(0)).to.deep.equal(['license.expiring']);
    expect(await typesAfter(14), 'in its grace').to.deep.equal(['license.expiring']);
    expect(await typesAfter(3)).to.have.length(2);
    await hub.admin.renewLicense({
      licenseId,
      extension: { case: 'to', value: at(now + 30 * DAY_MS) },
      idempotencyKey: 'renew',
    });
    now += 34 * DAY_MS;
    await passTwice();
    expect(await typesOf(licenseId, 6)).to.deep.equal([
      'license.expiring',
      'license.expired',
      'license.renewed',
      'license.expiring',
      'license.expired',
    ]);
    const ofRevoked = await eventsOf(eventClient(hub), revoked, 2);
    expect(ofRevoked.map(({ type }) => type)).to.deep.equal(['license.issued', 'license.revoked']);
  });

  it('are recorded for more licenses of one time than a batch has', async () => {
    const expiresAt = at(now + 20 * DAY_MS);
    await hub.admin.issueLicenses({ app, seatLimit: 1, expiresAt, count: 1_000 });
    await hub.admin.issueLicenses({ app, seatLimit: 1, expiresAt, count: 1_000 });
    await issue(20.5);
    now += 7 * DAY_MS;
    await passTwice();
    const [row] = await query<{ licenses: number }>(
      hub.databaseUrl,
      `select count(distinct l.id)::int as licenses from license l
       where l.expires_at between $1 and $2 and exists (
         select from event e where e.object_id = l.id and e.type = 'license.expiring'
         union all select from event_outbox o where l.id = any(o.object_ids) and o.type = 'license.expiring')`,
      [new Date(Number(expiresAt.seconds) * 1_000), new Date(now + 20 * DAY_MS)],
    );
    expect(row?.licenses).to.equal(2_001);
  });

  it('are recorded in rows of a bounded size', async () => {
    // Until the end of the transaction, no hub numbers the events and so removes the rows.
    await withClient(hub.databaseUrl, async (client) => {
      const expiresAt = at(now + 20 * DAY_MS);
      for (let issued = 0; issued < 2; issued++)
        await hub.admin.issueLicenses({ app, seatLimit: 1, expiresAt, count: 1_000 });
      await client.query(`begin; select from hub_lock where name = 'event_counter' for update`);
      now += 7 * DAY_MS;
      await pass();
      const { rows } = await client.query<{ licenses: number; most: number }>(
        `select sum(cardinality(object_ids))::int as licenses, max(cardinality(object_ids)) as most
         from event_outbox where type = 'license.expiring'`,
      );
      expect(rows[0]?.licenses).to.be.at.least(2_000);
      expect(rows[0]?.most).to.be.at.most(500);
    });
  });
});

describe('the event of an expired license', () => {
  let now = Date.now();
  let hub: TestHub;
  let pool: pg.Pool;
  before(async () => {
    hub = await startHub({ clock: () => new Date(now) });
    pool = new pg.Pool({ connectionString: hub.databaseUrl, max: 2 });
    await pass();
  });
  after(async () => {
    await pool.end();
    await hub.stop();
  });

  const pass = (): Promise<void> => createExpiryEvents({ pool, clock: () => new Date(now) })();
  const afterDays = (days: number): void => {
    now += days * DAY_MS;
  };
  const inSeconds = (seconds: number) => ({ seconds: BigInt(Math.floor(now / 1_000) + seconds), nanos: 0 });
  const issue = async (graceDays: number): Promise<string> => {
    const { licenseId } = await issueLicense(hub.admin, { expiresAt: inSeconds(86_400), graceDays });
    return licenseId;
  };
  const endGrace = (licenseId: string) =>
    hub.admin.updateLicense({ licenseId, updateMask: { paths: ['grace_days'] }, graceDays: 0 });
  const typesOf = async (licenseId: string): Promise<string[]> => {
    await pass();
    await hub.admin.suspendLicense({ licenseId, reason: 'last' });
    let types: string[] = [];
    await until(async () => {
      types = (await eventsOf(eventClient(hub), licenseId, 0)).map(({ type }) => type);
      return types.at(-1) === 'license.suspended';
    }, 'the events are numbered');
    return types.slice(1, -1);
  };

  it('is recorded if a change ends the grace, before or after the task has passed the new end', async () => {
    const early = await issue(10);
    afterDays(5);
    await pass();
    await endGrace(early);
    expect(await typesOf(early)).to.deep.equal(['license.updated', 'license.expired']);
    const late = await issue(10);
    await pass();
    afterDays(5);
    await endGrace(late);
    expect(await typesOf(late)).to.deep.equal(['license.updated', 'license.expired']);
  });

  it('is recorded if the task passes the new end before the change is committed', async () => {
    const licenseId = await issue(10);
    await pass();
    await withClient(hub.databaseUrl, async (client) => {
      const afterMs = now + DAY_MS;
      afterDays(5);
      await client.query('begin');
      const id = parseId('lic', licenseId) ?? '';
      const { rows } = await client.query<{ appId: string }>(
        'update license set grace_days = 0 where id = $1 returning app_id as "appId"',
        [id],
      );
      await recordPassedEnds(
        client as pg.PoolClient,
        [{ licenseId: id, appId: rows[0]?.appId ?? '', beforeMs: afterMs + 10 * DAY_MS, afterMs }],
        new Date(now),
      );
      const passing = pass();
      await until(() => waitsForLock(hub.databaseUrl, 'license_expiry_mark'), 'the task waits');
      await client.query('commit');
      await passing;
    });
    expect(await typesOf(licenseId)).to.deep.equal(['license.expired']);
  });

  it('is recorded if the task commits the new end while the change waits', async () => {
    const licenseId = await issue(10);
    await pass();
    await withClient(hub.databaseUrl, async (client) => {
      afterDays(5);
      await client.query('begin');
      await client.query(
        `update license_expiry_mark set announced_until = $1 where type = 'license.expired'`,
        [new Date(now)],
      );
      const changing = endGrace(licenseId);
      await until(() => waitsForLock(hub.databaseUrl, 'passedMs'), 'the change waits');
      await client.query('commit');
      await changing;
    });
    expect(await typesOf(licenseId)).to.deep.equal(['license.updated', 'license.expired']);
  });

  it('is recorded if a license is reinstated after its end', async () => {
    const licenseId = await issue(0);
    await hub.admin.revokeLicense({ licenseId, reason: 'test' });
    afterDays(5);
    await pass();
    await hub.admin.reinstateLicense({ licenseId });
    expect(await typesOf(licenseId)).to.deep.equal([
      'license.revoked',
      'license.reinstated',
      'license.expired',
    ]);
  });

  it('is recorded once if a change moves an end that has passed but that the task has not reached', async () => {
    const licenseId = await issue(10);
    afterDays(11);
    now -= 10_000;
    await pass();
    now += 20_000;
    await endGrace(licenseId);
    expect((await typesOf(licenseId)).sort()).to.deep.equal(['license.expired', 'license.updated']);
  });

  it('is not recorded again if a change moves an end that the task has passed', async () => {
    const licenseId = await issue(10);
    afterDays(12);
    await pass();
    await endGrace(licenseId);
    expect(await typesOf(licenseId)).to.deep.equal(['license.expired', 'license.updated']);
  });

  it('is recorded if the new end passes while the change waits for the license', async () => {
    const licenseId = await issue(0);
    await withClient(hub.databaseUrl, async (client) => {
      await client.query('begin');
      await client.query('select from license where id = $1 for update', [parseId('lic', licenseId)]);
      const changing = hub.admin.updateLicense({
        licenseId,
        updateMask: { paths: ['expires_at'] },
        expiresAt: inSeconds(2),
      });
      await until(() => waitsForLock(hub.databaseUrl, 'l.app_id as "appId"'), 'the change waits');
      now += 4_000;
      await pass();
      await client.query('commit');
      await changing;
    });
    expect(await typesOf(licenseId)).to.deep.equal(['license.updated', 'license.expired']);
  });

  it('is recorded if the expiry passes while the request that issues the license waits', async () => {
    const app = await createApp(hub.admin);
    const { customer } = await createClient(CustomerService, hub.transport).createCustomer({ name: 'Ada' });
    const { customerId = '' } = customer ?? {};
    await withClient(hub.databaseUrl, async (client) => {
      await client.query('begin');
      await client.query('select from customer where id = $1 for update', [parseId('cus', customerId)]);
      const issuing = hub.admin.issueLicenses({ app, count: 2, customerId, expiresAt: inSeconds(2) });
      await until(() => waitsForLock(hub.databaseUrl, 'from customer'), 'the request waits');
      now += 4_000;
      await pass();
      await client.query('commit');
      const { licenses } = await issuing;
      expect(licenses).to.have.length(2);
      for (const { license } of licenses)
        expect(await typesOf(license?.licenseId ?? '')).to.deep.equal(['license.expired']);
    });
  });

  it('is recorded if the expiry passes during the import, but not if it was before', async () => {
    const app = await createApp(hub.admin);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const soon = inSeconds(180);
    async function* lines() {
      yield { app };
      yield {
        licenses: [
          { licenseKey: 'EXPIRES-DURING-THE-IMPORT', seatLimit: 1, expiresAt: soon },
          { licenseKey: 'EXPIRED-BEFORE-THE-IMPORT', seatLimit: 2, expiresAt: inSeconds(-86_400) },
          { licenseKey: 'REVOKED-BEFORE-THE-IMPORT', seatLimit: 3, expiresAt: soon, revoked: true },
          { licenseKey: 'EXPIRES-AFTER-THE-IMPORT', seatLimit: 4, expiresAt: inSeconds(3_000) },
        ],
      };
      await gate;
    }
    await pass();
    const importing = hub.admin.importLicenses(lines());
    const free = `select from hub_lock where name = 'license_import' for update skip locked`;
    await until(async () => (await query(hub.databaseUrl, free)).length === 0, 'the import has begun');
    now += 360_000;
    await pass();
    open();
    expect(await importing).to.include({ imported: 4 });
    const rows = await query<{ id: string; types: string[] }>(
      hub.databaseUrl,
      `select l.id, array(
         select type from event where object_id = l.id and type like 'license.exp%'
         union all select type from event_outbox where l.id = any(object_ids) and type like 'license.exp%'
       ) as types
       from license l join app a on a.id = l.app_id where a.slug = $1 order by l.seat_limit`,
      [app],
    );
    expect(rows.map(({ types }) => types)).to.deep.equal([['license.expired'], [], [], []]);
  });
});
