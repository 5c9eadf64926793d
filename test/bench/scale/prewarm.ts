// Loads tables into PostgreSQL's shared_buffers, as on a server with enough memory that has run for a while.
import { query } from '../../support/postgres/databases.ts';

/** The tables that the measured requests read and write. */
const TABLES = [
  'app',
  'customer',
  'limit_profile',
  'license',
  'license_activity',
  'seat',
  'signing_key',
  'slot',
  'charge_session',
  'callback',
  'callback_count',
];

/**
 * Loads the tables of the measured requests with their indexes and partitions. Needs a superuser. Returns the bytes
 * that it has loaded.
 *
 * @throws Error if all databases together exceed `shared_buffers`
 */
export async function prewarm(databaseUrls: readonly string[]): Promise<number> {
  let loaded = 0;
  for (const databaseUrl of databaseUrls) {
    await query(databaseUrl, 'create extension if not exists pg_prewarm');
    const [row] = await query<{ bytes: string; space: string }>(databaseUrl, LOAD, [TABLES]);
    loaded += Number(row?.bytes);
    const space = Number(row?.space);
    if (loaded > space) {
      throw new Error(`the tables of the requests exceed shared_buffers: ${loaded} of ${space} bytes`);
    }
  }
  return loaded;
}

const LOAD = `with tables as (
    select c.oid from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      and coalesce(i.inhparent, c.oid)::regclass::text = any($1)
  ), relations as (
    select oid from tables
    union all
    select indexrelid from pg_index where indrelid in (select oid from tables)
  )
  select sum(pg_prewarm(oid::regclass)) * current_setting('block_size')::int as bytes,
         pg_size_bytes(current_setting('shared_buffers')) as space
  from relations`;
