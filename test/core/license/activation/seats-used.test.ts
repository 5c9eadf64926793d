// The stored number of taken seats of a license: the database maintains it for every change of seats.
import { expect } from 'chai';
import { pino } from 'pino';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { migrateUp } from '../../../../core/storage/schema/migrate.ts';
import { miscounted } from '../../../support/hub/license.ts';
import { createMigratedDatabase, query } from '../../../support/postgres/databases.ts';

const [ONE, TWO] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];

describe('the stored number of taken seats', () => {
  let url: string;
  let db: Database;
  beforeEach(async () => {
    url = await createMigratedDatabase();
    db = await openHubDatabase({ url }, 4, pino({ level: 'silent' }));
  });
  afterEach(() => db.close());

  const addLicenses = () =>
    query(
      url,
      `with app as (insert into app values (gen_random_uuid(), 'notes', 'Notes', now()) returning id)
       insert into license (id, app_id, key_hash, key_hint, seat_limit, created_at)
       select t.id, app.id, t.id::text::bytea, '', t.seat_limit, now()
       from app, unnest($1::uuid[], $2::int[]) as t (id, seat_limit)`,
      [
        [ONE, TWO],
        [3, -1],
      ],
    );
  /** Like an older hub, or psql. */
  const addSeats = (licenseId: string, machines: readonly string[], released = false) =>
    query(
      url,
      `insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, activated_at, last_seen_at,
                         released_at)
       select gen_random_uuid(), $1, machine, '', '', now(), now(), case when $3 then now() end
       from unnest($2::text[]) as machine`,
      [licenseId, machines, released],
    );
  const noted = async () => {
    expect(await miscounted(url)).to.deep.equal([]);
    const rows = await query<{ used: number }>(url, 'select seats_used as used from license order by id');
    return rows.map(({ used }) => used);
  };

  it('follows every statement that changes seats, and ignores rolled-back ones', async () => {
    await migrateUp(db);
    await addLicenses();
    const many = Array.from({ length: 200 }, (_, number) => `machine-${number}`);
    await addSeats(TWO, many);
    await addSeats(ONE, ['a', 'b']);
    await addSeats(ONE, ['released before'], true);
    expect(await noted()).to.deep.equal([2, 200]);
    await query(url, 'update seat set last_seen_at = now()');
    expect(await noted()).to.deep.equal([2, 200]);
    await query(url, `update seat set released_at = now() where machine_fingerprint = 'a'`);
    expect(await noted()).to.deep.equal([1, 200]);
    await query(url, `update seat set released_at = null where machine_fingerprint = 'a'`);
    expect(await noted()).to.deep.equal([2, 200]);
    await query(url, `update seat set license_id = $1 where machine_fingerprint = 'machine-7'`, [ONE]);
    expect(await noted()).to.deep.equal([3, 199]);
    await query(url, `delete from seat where machine_fingerprint in ('a', 'machine-8', 'released before')`);
    expect(await noted()).to.deep.equal([2, 198]);
    await query(url, 'begin; delete from seat; rollback');
    expect(await noted()).to.deep.equal([2, 198]);
    await query(url, 'truncate seat');
    expect(await noted()).to.deep.equal([0, 0]);
  });

  it('can never be more than the limit or less than zero', async () => {
    await migrateUp(db);
    await addLicenses();
    await addSeats(ONE, ['a', 'b']);
    const answer = await addSeats(ONE, ['c', 'd']).catch((error) => error.message);
    expect(answer).to.equal(`license ${ONE} has no seat left`);
    expect(await noted()).to.deep.equal([2, 0]);
    const less = await query(url, 'update license set seats_used = -1').catch((error) => error.constraint);
    expect(less).to.equal('license_seats_used_range');
    // Fewer seats than are taken: new machines get none, and taken ones can be released.
    await query(url, 'update license set seat_limit = 1 where id = $1', [ONE]);
    expect(await addSeats(ONE, ['c']).catch((error) => error.code)).to.equal('23514');
    await query(url, `update seat set released_at = now() where machine_fingerprint = 'a'`);
    expect(await noted()).to.deep.equal([1, 0]);
  });
});
