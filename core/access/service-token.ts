// Service tokens: random bearer tokens that carry the id of their row, of which the hub keeps only a hash.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { formatId, newUuid, parseId, type Uuid } from '../ids.ts';
import type { RoleName, Scope } from './entities.ts';

/** A fresh token: `hub_`, the 26 characters of its id, `_`, and 256 random bits in base64url. */
export function newServiceToken(id: Uuid = newUuid()): string {
  return `hub_${formatId('tok', id).slice('tok_'.length)}_${randomBytes(32).toString('base64url')}`;
}

/** The id in a token, or undefined if the text is not a whole one. It proves nothing. */
export function tokenIdOf(token: string): Uuid | undefined {
  const id = /^hub_(\w{26})_[\w-]{43}$/.exec(token)?.[1];
  return id === undefined ? undefined : parseId('tok', `tok_${id}`);
}

/** SHA-256: a token has 256 random bits, so that a slow hash would protect nothing. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Whether a token is the one that was hashed, in a time that says nothing about how much of it is right. */
export function isToken(token: string, hash: Buffer): boolean {
  return timingSafeEqual(hashToken(token), hash);
}

export type Grant = { readonly name: string; readonly role: RoleName; readonly scope?: Scope };

/** `refused`: it is no token, or is known already, but revoked, expired or of another role. */
export type Registration = 'added' | 'known' | 'refused';

/** Makes a token known to the hub. */
export async function registerServiceToken(
  db: Pool | ClientBase,
  clock: Clock,
  token: string,
  { name, role, scope }: Grant,
): Promise<Registration> {
  const id = tokenIdOf(token);
  if (id === undefined) return 'refused';
  // The primary key makes a second registration a look-up; a row that was there before has an xmax then.
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
