// Service tokens: random bearer tokens of which the hub keeps only a hash.
import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import type { Caller } from './caller.ts';
import type { RoleName } from './entities.ts';

/** A fresh token: `hub_` and 256 random bits in base64url. */
export function newServiceToken(): string {
  return `hub_${randomBytes(32).toString('base64url')}`;
}

/** Whether a text is a whole token, not part of one. */
export function isServiceToken(text: string): boolean {
  return /^hub_[\w-]{43}$/.test(text);
}

/** Makes a token known to the hub. Returns false if it is known already, but revoked, expired or of another role. */
export async function registerServiceToken(
  pool: Pool,
  clock: Clock,
  token: string,
  { name, role }: { name: string; role: RoleName },
): Promise<boolean> {
  // The unique index on token_hash makes a second registration a look-up.
  const { rows } = await pool.query(
    `insert into service_token (id, name, role, token_hash, created_at)
     values ($1, $2, $3, $4, $5)
     on conflict (token_hash) do update set name = service_token.name
     returning revoked_at is null and (expires_at is null or expires_at > $5) and role = $3 as live`,
    [newUuid(), name, role, hashToken(token), clock()],
  );
  return rows[0].live;
}

/** The caller a token stands for, or undefined if it is unknown, revoked or expired. */
export async function findCaller(pool: Pool, clock: Clock, token: string): Promise<Caller | undefined> {
  // Looked up by hash: neither the time taken nor the index says anything about the token's own bytes.
  const { rows } = await pool.query<Caller>({
    name: 'find_caller',
    text: `select name, role from service_token
           where token_hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
    values: [hashToken(token), clock()],
  });
  return rows[0];
}

function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
