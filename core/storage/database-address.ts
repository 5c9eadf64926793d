// The address of a database, and the schema that a hub's tables are in.
import pg from 'pg';

export type DatabaseAddress = {
  /** As in libpq: `postgresql://`, with hosts and parameters. */
  readonly url: string;
  /** Undefined: the first schema of the role's search path. */
  readonly schema?: string | undefined;
  /** `transaction`: what answers is a pooler that gives each transaction whichever session is free. */
  readonly pooler?: 'none' | 'transaction' | undefined;
  /** A `postgres://` URL that leads to the same database past the pooler. */
  readonly directUrl?: string | undefined;
};

/** For what takes long or a session of its own: past the pooler, if there is a way. */
export function directAddress(address: DatabaseAddress): DatabaseAddress {
  const { url, directUrl, schema, pooler } = address;
  if (pooler !== 'transaction' || directUrl === undefined) return { url, schema, pooler };
  return { url: directUrl, schema };
}

/** pg-boss takes no longer names. */
const MAX_BYTES = 50;
const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_-]*$/u;

/** Returns the name. @throws Error that says what a valid name looks like */
export function schemaName(value: string): string {
  if (NAME.test(value) && Buffer.byteLength(value) <= MAX_BYTES && !value.startsWith('pg_')) return value;
  throw new Error(
    `must be the name of a schema: letters, digits, _ and -, at most ${MAX_BYTES} bytes, not beginning with pg_`,
  );
}

/**
 * What `set` takes, after which names mean the hub's own tables and functions, whatever else is in the database: another
 * hub's tables may be in other schemas of the role's path, and anything among temporary ones.
 */
export function searchPath(schema: string): string {
  return `search_path to ${pg.escapeIdentifier(schema)}, pg_temp`;
}

/** The statement that does so for a new connection. */
export function searchPathSetting({ schema }: Pick<DatabaseAddress, 'schema'>): string {
  if (schema !== undefined) return `set ${searchPath(schema)}`;
  return (
    `select set_config('search_path', format('%I, pg_temp', current_schema()), false) ` +
    'where current_schema() is not null'
  );
}
