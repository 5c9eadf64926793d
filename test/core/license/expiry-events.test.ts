import { expect } from 'chai';
import pg from 'pg';
import { parseId } from '../../../core/ids.ts';
import { createExpiryEvents } from '../../../core/license/expiry-events.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp } from '../../support/hub/license.ts';
import { query } from '../../support/postgres/databases.ts';
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
    await query(hub.databaseUrl, 'delete from license_expiry_mark'); // of the hub's own first pass
    const past = await issue(-3);
    const soon = await issue(10);
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
});
