// The address of a database, and the schema of the hub's tables.

export type DatabaseAddress = {
  /** As in libpq: `postgresql://`, with hosts and parameters. */
  readonly url: string;
  /** Undefined: the first schema of the role's search path. */
  readonly schema?: string | undefined;
  /** `transaction`: the address is that of a transaction pooler. */
  readonly pooler?: 'none' | 'transaction' | undefined;
  /** A `postgres://` URL of the same database without the pooler. */
  readonly directUrl?: string | undefined;
  /** Replaces the application name by which a restore finds hubs. */
  readonly applicationName?: string | undefined;
};

/** The address for long statements or a session of its own: without the pooler, if there is a direct URL. */
export function directAddress(address: DatabaseAddress): DatabaseAddress {
  const { url, directUrl, schema, pooler } = address;
  if (pooler !== 'transaction' || directUrl === undefined) return { url, schema, pooler };
  return { url: directUrl, schema };
}

/** The limit of pg-boss. */
const MAX_BYTES = 50;
const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_-]*$/u;

/** Returns the name. @throws Error that says what a valid name looks like */
export function schemaName(value: string): string {
  if (NAME.test(value) && Buffer.byteLength(value) <= MAX_BYTES && !value.startsWith('pg_')) return value;
  throw new Error(
    `must be the name of a schema: letters, digits, _ and -, at most ${MAX_BYTES} bytes, not ` +
      'beginning with pg_',
  );
}

/**
 * The argument of `set` after which unqualified names mean the hub's own tables and functions. Other schemas
 * of the role's search path may have tables of another hub, and the temporary schema any table.
 */
export function searchPath(schema: string): string {
  // Not by pg's function: hubctl checks names before every command, and loading pg takes a tenth of its
  // start.
  return `search_path to "${schema.replaceAll('"', '""')}", pg_temp`;
}

/** The same as a statement for a new connection. */
export function searchPathSetting({ schema }: Pick<DatabaseAddress, 'schema'>): string {
  if (schema !== undefined) return `set ${searchPath(schema)}`;
  return (
    `select set_config('search_path', format('%I, pg_temp', current_schema()), false) ` +
    'where current_schema() is not null'
  );
}
