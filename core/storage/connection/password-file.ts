// Reads the password file, as libpq does for an address without a password.
//
// https://www.postgresql.org/docs/current/libpq-pgpass.html
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionTarget, Server } from './connection-string.ts';
import { isSocket } from './connection-string.ts';

/**
 * The password of the first line that fits; undefined if there is no such line or file.
 * @throws Error if others can read the file
 */
export async function passwordFromFile(
  { parameters, database, user }: ConnectionTarget,
  { host, port }: Server,
): Promise<string | undefined> {
  const path = parameters.passfile ?? join(homedir(), '.pgpass');
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) return undefined;
  if ((found.mode & 0o077) !== 0)
    throw new Error(`others can read the password file ${path}: chmod 600 ${path}`);
  const name = isSocket(host) && /^(\/var\/run\/postgresql|\/tmp)$/.test(host) ? 'localhost' : host;
  const wanted = [name, String(port), database, user];
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    if (line.startsWith('#')) continue;
    const fields = fieldsOf(line.trimEnd());
    if (fields.length === 5 && wanted.every((value, at) => fields[at] === '*' || fields[at] === value))
      return fields[4];
  }
  return undefined;
}

/** Colons separate fields; a backslash escapes a colon and itself. */
function fieldsOf(line: string): string[] {
  const fields = line.match(/(?:^|:)((?:\\.|[^:\\])*)/g) ?? [];
  return fields.map((field, index) => (index === 0 ? field : field.slice(1)).replace(/\\(.)/g, '$1'));
}
