// When machines were last seen: one write at a time, and none is lost when the hub stops.
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { newUuid, parseId } from '../../../../core/ids.ts';
import { createLastSeen } from '../../../../core/license/activation/last-seen.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { activate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const YESTERDAY = new Date('2026-05-01T12:00:00.000Z');
const TODAY = new Date('2026-05-02T12:00:00.000Z');

/** Fails the test: the write that reports the error rejects. */
function failed(error: unknown): never {
  throw error;
}

describe('the times at which machines were last seen', () => {
  let hub: TestHub;
  let pool: pg.Pool;
  before(async () => {
    hub = await startHub({ clock: () => YESTERDAY });
    pool = new pg.Pool({ connectionString: hub.databaseUrl, application_name: 'last seen' });
  });
  after(async () => {
    await pool.end();
    await hub.stop();
  });

  /** Activates a machine on a new license. Returns both UUIDs, once the hub has written the day of this use. */
  async function seatOfNewLicense() {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const license = parseId('lic', licenseId) ?? '';
    const [row] = await query<{ id: string }>(hub.databaseUrl, 'select id from seat where license_id = $1', [
      license,
    ]);
    await until(async () => (await lastUseOf(license)) === '2026-05-01', 'the first use is on record');
    return { license, seat: row?.id ?? '' };
  }

  async function lastUseOf(license: string): Promise<string | undefined> {
    const [row] = await query<{ day: string }>(
      hub.databaseUrl,
      'select last_active_on::text as day from license_activity where license_id = $1',
      [license],
    );
    return row?.day;
  }

  async function waitingWrites(): Promise<number> {
    const [row] = await query<{ count: number }>(
      hub.databaseUrl,
      `select count(*)::int as count from pg_stat_activity
       where application_name = 'last seen' and wait_event_type = 'Lock'`,
    );
    return row?.count ?? 0;
  }

  it('are all written before the hub stops, also if an earlier write takes long', async () => {
    const [first, second] = [await seatOfNewLicense(), await seatOfNewLicense()];
    const errors: unknown[] = [];
    const lastSeen = createLastSeen({ pool, onError: (error) => errors.push(error) });
    const locker = new pg.Client({ connectionString: hub.databaseUrl });
    await locker.connect();
    try {
      await locker.query('begin');
      await locker.query('select from license_activity where license_id = any($1) for update', [
        [first.license, second.license],
      ]);
      lastSeen.touch(first.seat, YESTERDAY.getTime(), TODAY);
      await until(async () => (await waitingWrites()) === 1, 'the first write waits for the lock');
      lastSeen.touch(second.seat, YESTERDAY.getTime(), TODAY);
      await setTimeout(1_200); // later than the interval of writes
      expect(await waitingWrites()).to.equal(1);
      const closed = lastSeen.close();
      await locker.query('rollback');
      await closed;
    } finally {
      await locker.end();
    }
    expect(errors).to.deep.equal([]);
    expect([await lastUseOf(first.license), await lastUseOf(second.license)]).to.deep.equal([
      '2026-05-02',
      '2026-05-02',
    ]);
  });

  it('are written in parts, so that other clients use the seats of finished parts', async () => {
    const { seat, license } = await seatOfNewLicense();
    const last = await seatOfNewLicense();
    const lastSeen = createLastSeen({ pool, onError: failed });
    const locker = new pg.Client({ connectionString: hub.databaseUrl });
    await locker.connect();
    try {
      await locker.query('begin');
      await locker.query('select from seat where id = $1 for update', [last.seat]);
      lastSeen.touch(seat, YESTERDAY.getTime(), TODAY);
      for (let filler = 0; filler < 1_000; filler++) lastSeen.touch(newUuid(), YESTERDAY.getTime(), TODAY);
      lastSeen.touch(last.seat, YESTERDAY.getTime(), TODAY);
      await until(async () => (await waitingWrites()) === 1, 'the last part waits for the lock');
      expect(await lastUseOf(license)).to.equal('2026-05-02');
      expect(await lastUseOf(last.license)).to.equal('2026-05-01');
      await locker.query('rollback');
      await lastSeen.close();
    } finally {
      await locker.end();
    }
    expect(await lastUseOf(last.license)).to.equal('2026-05-02');
  });

  it('of new seats are those of the insert, so only the day is written', async () => {
    const { seat, license } = await seatOfNewLicense();
    const sent: string[] = [];
    const recorded = {
      query: (statement: pg.QueryConfig) => {
        sent.push(statement.name ?? '');
        return pool.query(statement);
      },
    };
    const lastSeen = createLastSeen({ pool: recorded as pg.Pool, onError: failed });
    lastSeen.touch(seat, null, TODAY);
    await lastSeen.close();
    expect(sent).to.deep.equal(['write_last_active']);
    expect(await lastUseOf(license)).to.equal('2026-05-02');
  });
});
