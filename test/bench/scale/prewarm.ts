// Loads tables into PostgreSQL's shared_buffers or the operating system's cache, as on a server with enough memory
// that has run for a while.
import { query } from '../../support/postgres/databases.ts';
import { sizesOf } from './sizes.ts';

/** The large tables whose blocks the measured requests read or write at many places. */
export const PREWARMED: readonly string[] = [
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
  'payment_proof',
  'purchase',
  'sales_order',
];

/** The share of `shared_buffers` that the tables may take. PostgreSQL needs the rest for others. */
const MAX_SHARE = 0.95;

/**
 * Checks that `sharedBuffers`, a value such as `14GB`, has space for the tables of all databases.
 *
 * @throws Error if it has not, or if a table is missing
 */
export async function requireSpace(databaseUrls: readonly string[], sharedBuffers: string): Promise<void> {
  let needed = 0;
  let space = 0;
  for (const url of databaseUrls) {
    const sizes = (await sizesOf(url)).filter(({ table }) => PREWARMED.includes(table));
    if (new Set(sizes.map(({ table }) => table)).size !== PREWARMED.length) {
      throw new Error(`${url} does not have all tables of PREWARMED`);
    }
    needed += sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    const [row] = await query<{ bytes: string }>(url, 'select pg_size_bytes($1) as bytes', [sharedBuffers]);
    space = Number(row?.bytes);
  }
  if (needed > MAX_SHARE * space) {
    throw new Error(
      `the tables take ${megabytes(needed)}: give a shared_buffers of at least ${megabytes(needed / MAX_SHARE)}`,
    );
  }
}

/** Loads the tables into `shared_buffers`. Needs a superuser. Returns their size, such as `1400MB`. */
export async function prewarm(databaseUrls: readonly string[]): Promise<string> {
  let blocks = 0;
  for (const url of databaseUrls) blocks += await load(url, 'buffer');
  return megabytes(blocks * 8_192);
}

/** Reads the tables, so that the operating system's cache has them. Needs a superuser. */
export async function readTables(databaseUrl: string): Promise<void> {
  await load(databaseUrl, 'read');
}

/** `mode`: an argument of `pg_prewarm`. Returns the number of blocks. */
async function load(databaseUrl: string, mode: 'buffer' | 'read'): Promise<number> {
  await query(databaseUrl, 'create extension if not exists pg_prewarm');
  const [row] = await query<{ blocks: string }>(databaseUrl, LOAD, [PREWARMED, mode]);
  return Number(row?.blocks);
}

/** With their partitions and indexes. */
const LOAD = `with tables as (
    select c.oid from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      and coalesce(i.inhparent, c.oid)::regclass::text = any($1)
  ), relations as (
    select oid from tables
    union all
    select indexrelid from pg_index where indrelid in (select oid from tables)
  )
  select sum(pg_prewarm(oid::regclass, $2)) as blocks from relations`;

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)}MB`;
}
