// Recognizable secrets, and dumps of a database to search for them.
import { randomBytes } from 'node:crypto';
import { query } from '../postgres/databases.ts';

export type Canaries = {
  /** Creates a secret. */
  make(): string;
  /** Adds an existing secret. */
  add(secret: string): void;
  /** The secrets in a text: plain, in hex, or in base64. */
  found(haystack: string): string[];
};

export function createCanaries(): Canaries {
  const canaries: string[] = [];
  return {
    make() {
      const secret = `canary${randomBytes(12).toString('hex')}`;
      canaries.push(secret);
      return secret;
    },
    add(secret) {
      canaries.push(secret);
    },
    found: (haystack) => canaries.filter((secret) => forms(secret).some((form) => haystack.includes(form))),
  };
}

/** All rows of all tables; binary columns in hex. */
export async function dumpOf(databaseUrl: string): Promise<string> {
  const tables = await query<{ name: string }>(
    databaseUrl,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const dumps = tables.map(async ({ name }) => {
    const rows = await query<{ row: string }>(
      databaseUrl,
      `select row_to_json(t)::text as row from ${name} t`,
    );
    return [name, ...rows.map(({ row }) => row)].join('\n');
  });
  return (await Promise.all(dumps)).join('\n');
}

function forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // The base64 form of a text depends on its offset modulo three. Only its middle is certain.
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  );
  return [secret, bytes.toString('hex'), ...base64];
}
