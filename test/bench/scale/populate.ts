// Fills the growing tables by COPY with as many rows as a hub has after some years. No hub may run meanwhile.
import pg from 'pg';
import { linkHash, readHead } from '../../../core/audit/chain.ts';
import type { ChainKey } from '../../../core/audit/chain-key.ts';
import { copyRows, type Field } from './copy-rows.ts';
import { auditEntries, type ReferencedRows, tablesOf } from './made-rows.ts';
import type { Population } from './population.ts';

export type PopulateOptions = {
  /** A database that a hub has prepared. The user must be a superuser, because foreign key checks are off. */
  readonly databaseUrl: string;
  readonly population: Population;
  readonly referencedRows: ReferencedRows;
  /** The key of the audit chain. */
  readonly auditKey: ChainKey;
  readonly log?: (message: string) => void;
};

const PARTITIONED = [
  'callback',
  'verification',
  'usage_log',
  'fee_line',
  'audit_entry',
  'audit_link',
  'event',
  'event_data',
  'event_delivery',
];

/**
 * Tables whose indexes exceed the memory for them. Building those indexes after the COPY takes a fraction of
 * the time.
 */
const INDEXED_AFTERWARDS = ['license', 'seat'];

/**
 * Populates with constant memory use. The data is consistent: keys, references, proofs and the audit chain
 * are valid.
 */
export async function populate(options: PopulateOptions): Promise<void> {
  const { databaseUrl, population, referencedRows, auditKey, log = () => {} } = options;
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'populate' });
  await client.connect();
  try {
    // Turns off foreign keys and the trigger that queues audit entries. The generated rows are consistent
    // already.
    await client.query(`set session_replication_role = replica`);
    await client.query(`set maintenance_work_mem = '1GB'`);
    await client.query(`set synchronous_commit = off`);
    await makeMonths(client, population);
    const restore = await dropIndexes(client);
    for (const { table, columns, rows } of tablesOf(population, referencedRows)) {
      await timed(`${table} filled`, log, () => copyRows(client, table, columns, rows()));
    }
    await timed('audit chain made', log, () => linkAll(client, population, auditKey));
    await timed('indexes made', log, restore);
    await timed('analyzed', log, () => client.query('vacuum (analyze)'));
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

async function makeMonths(client: pg.Client, { from, to }: Population): Promise<void> {
  for (const table of PARTITIONED) {
    await client.query(
      `select make_month_partitions($1, array(
         select month::date from generate_series(date_trunc('month', $2::timestamptz at time zone 'UTC'),
                                                 $3::timestamptz at time zone 'UTC', interval '1 month') month))`,
      [table, new Date(from), new Date(to)],
    );
  }
}

/** Drops all indexes except primary keys, which fill in order. Returns a function that recreates them. */
async function dropIndexes(client: pg.Client): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ drop: string; make: string }>(
    `select case when k.oid is null then format('drop index %I', c.relname)
                 else format('alter table %I drop constraint %I', t.relname, k.conname) end as drop,
            case when k.oid is null then pg_get_indexdef(i.indexrelid)
                 else format('alter table %I add constraint %I %s', t.relname, k.conname, pg_get_constraintdef(k.oid)) end as make
     from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = t.oid
     where t.relname = any($1) and not i.indisprimary`,
    [INDEXED_AFTERWARDS],
  );
  for (const { drop } of rows) await client.query(drop);
  return async () => {
    for (const { make } of rows) await client.query(make);
  };
}

async function linkAll(client: pg.Client, population: Population, key: ChainKey): Promise<void> {
  const head = await readHead(client);
  const links = function* (): Generator<readonly Field[]> {
    let previous = head;
    for (const entry of auditEntries(population)) {
      const hash = linkHash(key, previous, entry.at, entry);
      previous = { seq: previous.seq + 1, hash };
      yield [previous.seq, entry.id, entry.at, Buffer.from(hash, 'hex')];
    }
  };
  await copyRows(client, 'audit_link', 'seq, entry_id, linked_at, hash', links());
}

async function timed(
  what: string,
  log: (message: string) => void,
  work: () => Promise<unknown>,
): Promise<void> {
  const begun = performance.now();
  await work();
  log(`${what} in ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
}
