// The monthly partitions: created ahead of time, pruned in lookups by id, and without blocking rows.
import { expect } from 'chai';
import { pino } from 'pino';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { migrateUp } from '../../../../core/storage/schema/migrate.ts';
import { listPartitions, makePartitions } from '../../../../core/storage/schema/partitions.ts';
import { createDatabase, query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const TABLES = [
  'audit_entry',
  'audit_link',
  'callback',
  'event',
  'event_data',
  'event_delivery',
  'fee_line',
  'usage_log',
  'verification',
];

/** A UUIDv7 of that moment. */
function idAt(time: string, tail = 0): string {
  const hex = Date.parse(time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(tail).padStart(12, '0')}`;
}

describe('partitions by month', () => {
  let url: string;
  let db: Database;
  beforeEach(async () => {
    url = await createDatabase();
    db = await openHubDatabase({ url }, 4, pino({ level: 'silent' }));
  });
  afterEach(() => db.close());

  const addCallback = (id: string) =>
    query(
      url,
      `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       values ($1, 'gateway_one', '{}', now(), 'received', '', 0)`,
      [id],
    );
  const placeOf = async (id: string) =>
    (
      await query<{ place: string }>(
        url,
        'select tableoid::regclass::text as place from callback where id = $1',
        [id],
      )
    )[0]?.place;

  it('are created once for this month and the next three, for each growing table', async () => {
    await migrateUp(db);
    const now = new Date('2031-11-30T23:59:59.999Z');
    const months = ['2031-11', '2031-12', '2032-01', '2032-02'];
    const [one, two] = await Promise.all([makePartitions(db.pool, now), makePartitions(db.pool, now)]);
    expect(one + two).to.equal(months.length * TABLES.length);
    expect(await makePartitions(db.pool, now)).to.equal(0);
    const made = (await listPartitions(db.pool)).filter(({ month }) => months.includes(month));
    expect(made.map(({ month, table }) => `${month} ${table}`)).to.deep.equal(
      months.flatMap((month) => TABLES.map((table) => `${month} ${table}`)),
    );
  });

  it('store the rows of their month to the millisecond; the default partition stores the others', async () => {
    await migrateUp(db);
    await makePartitions(db.pool, new Date('2031-11-15T00:00:00Z'));
    for (const [time, place] of [
      ['2031-10-31T23:59:59.999Z', 'callback_default'],
      ['2031-11-01T00:00:00.000Z', 'callback_2031_11'],
      ['2031-11-30T23:59:59.999Z', 'callback_2031_11'],
      ['2031-12-01T00:00:00.000Z', 'callback_2031_12'],
    ] as const) {
      await addCallback(idAt(time));
      expect(await placeOf(idAt(time)), time).to.equal(place);
    }
  });

  it('take over rows from the default partition', async () => {
    await migrateUp(db);
    const [early, astray] = [idAt('1999-01-01T00:00:00Z'), idAt('2024-02-29T12:00:00Z')];
    await addCallback(early);
    await addCallback(astray);
    await makePartitions(db.pool, new Date());
    expect([await placeOf(early), await placeOf(astray)]).to.deep.equal([
      'callback_default',
      'callback_2024_02',
    ]);
    const reads = `select count(*)::int as count from callback where id in ($1, $2)`;
    expect(await query(url, reads, [early, astray])).to.deep.equal([{ count: 2 }]);
  });

  it('wait for uncommitted rows of the default partition, and take them over', async () => {
    await migrateUp(db);
    const id = idAt('2031-11-20T00:00:00Z');
    const written = query(
      url,
      `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       select $1, 'gateway_one', '{}', now(), 'received', '', 0 from pg_sleep(0.5)`,
      [id],
    );
    await until(async () => {
      const [{ sleeping } = { sleeping: 0 }] = await query<{ sleeping: number }>(
        url,
        `select count(*)::int as sleeping from pg_stat_activity
         where datname = current_database() and wait_event = 'PgSleep'`,
      );
      return sleeping === 1;
    }, 'the row is on its way');
    await makePartitions(db.pool, new Date('2031-11-15T00:00:00Z'));
    await written;
    expect(await placeOf(id)).to.equal('callback_2031_11');
  });

  it('wait for transactions that have read the table and are writing to it', async () => {
    await migrateUp(db);
    const id = idAt('2031-11-20T00:00:00Z');
    const client = await db.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from callback');
      // Without a limit to its patience: in a circle, PostgreSQL would end one of the two.
      const making = query(url, `select make_month_partitions('callback', '{2031-11-01}')`);
      await until(async () => {
        const waiting = `select from pg_locks where not granted and relation = 'callback'::regclass`;
        return (await query(url, waiting)).length === 1;
      }, 'the partitions wait for the reader');
      await client.query(
        `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
         values ($1, 'gateway_one', '{}', now(), 'received', '', 0)`,
        [id],
      );
      await client.query('commit');
      await making;
    } finally {
      client.release();
    }
    expect(await placeOf(id)).to.equal('callback_2031_11');
  });

  it('are pruned to one partition in lookups by id', async () => {
    await migrateUp(db);
    await makePartitions(db.pool, new Date('2031-11-15T00:00:00Z'));
    const id = idAt('2031-11-20T00:00:00Z');
    for (const [name, statement] of Object.entries({
      read: 'select * from callback where id = $1',
      finish: `update callback set state = 'ignored' where id = $1 and state <> 'settled'`,
      usage: 'select * from usage_log where id = $1',
      fees: 'select * from fee_line where usage_log_id = $1',
      entry: 'select * from audit_entry where id = $1',
    })) {
      const text = (await explain(statement, id)).join('\n');
      const looked = new Set(
        [...text.matchAll(/(?:Scan using \S+ on|Scan on) (\w+_(?:\d{4}_\d\d|default))/g)].map(([, at]) => at),
      );
      expect(
        [...looked].every((at) => at?.endsWith('_2031_11')),
        `${name}\n${text}`,
      ).to.equal(true);
      expect(text, name).to.match(/_2031_11|Subplans Removed/);
    }
  });

  /** By a generic plan: partitions are chosen when it runs, as for the statements that the hub prepares. */
  const explain = async (statement: string, id: string): Promise<string[]> => {
    const client = await db.pool.connect();
    try {
      await client.query('set plan_cache_mode = force_generic_plan');
      await client.query(`prepare asked (uuid) as ${statement}`);
      const { rows } = await client.query(
        `explain (analyze, costs off, timing off, summary off) execute asked ('${id}')`,
      );
      return rows.map((row) => row['QUERY PLAN']);
    } finally {
      client.release(true);
    }
  };
});
