// The address of a database, and the schema that a hub's tables are in.
import pg from 'pg';

export type DatabaseAddress = {
  /** As in libpq: `postgresql://`, with hosts and parameters. */
  readonly url: string;
  /** Undefined: the first schema of the role's search path. */
  readonly schema?: string | undefined;
};

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
 * The statement for a new connection after which names mean the hub's own tables and functions, whatever else is in the
 * database: another hub's tables may be in other schemas of the role's path, and anything among temporary ones.
 */
export function searchPathSetting({ schema }: Pick<DatabaseAddress, 'schema'>): string {
  if (schema !== undefined) return `set search_path to ${pg.escapeIdentifier(schema)}, pg_temp`;
  return (
    `select set_config('search_path', format('%I, pg_temp', current_schema()), false) ` +
    'where current_schema() is not null'
  );
}
