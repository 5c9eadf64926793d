// Adds a service token to the database, if it is not there yet.
import type { ClientBase, Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { RoleName, Scope } from './entities.ts';
import { hashToken, tokenIdOf } from './token-format.ts';

export type Grant = { readonly name: string; readonly role: RoleName; readonly scope?: Scope };

/**
 * `refused`: the text is not a token, or the token is known but revoked, expired or of another role or scope.
 */
export type Registration = 'added' | 'known' | 'refused';

export async function registerServiceToken(
  db: Pool | ClientBase,
  clock: Clock,
  token: string,
  { name, role, scope }: Grant,
): Promise<Registration> {
  const id = tokenIdOf(token);
  if (id === undefined) return 'refused';
  // For a token that exists already this is a lookup: the row then has an xmax.
  const { rows } = await db.query(
    `insert into service_token (id, name, role, scope, token_hash, created_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (id) do update set name = service_token.name
     returning xmax = 0 as added,
               token_hash is not distinct from $5 and role = $3 and scope is not distinct from $4
               and revoked_at is null and (expires_at is null or expires_at > $6) as live`,
    [id, name, role, scope ?? null, hashToken(token), clock()],
  );
  const { added, live } = rows[0];
  if (added) return 'added';
  return live ? 'known' : 'refused';
}
