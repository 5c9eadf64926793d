// Service tokens: random bearer tokens that contain the id of their row. The hub stores only a hash.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { formatId, newUuid, parseId, type Uuid } from '../ids.ts';
import type { RoleName, Scope } from './entities.ts';

/** A fresh token: `hub_`, the 26 characters of its id, `_`, and 256 random bits in base64url. */
export function newServiceToken(id: Uuid = newUuid()): string {
  return `hub_${formatId('tok', id).slice('tok_'.length)}_${randomBytes(32).toString('base64url')}`;
}

/** The id in a token; undefined if the text is not a token. Does not authenticate the token. */
export function tokenIdOf(token: string): Uuid | undefined {
  const id = /^hub_(\w{26})_[\w-]{43}$/.exec(token)?.[1];
  return id === undefined ? undefined : parseId('tok', `tok_${id}`);
}

/** SHA-256. A slow hash is not needed, because a token has 256 random bits. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares a token with a hash in constant time. */
export function isToken(token: string, hash: Buffer): boolean {
  return timingSafeEqual(hashToken(token), hash);
}

export type Grant = { readonly name: string; readonly role: RoleName; readonly scope?: Scope };

/**
 * `refused`: the text is not a token, or the token is known but revoked, expired or of another role or scope.
 */
export type Registration = 'added' | 'known' | 'refused';

/** Adds a token to the database, if it is not there yet. */
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
