// Caches the access token of a slot in the database, sealed, for all hubs. One hub at a time requests a new
// one.
import { setTimeout } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import { type GrantedToken, ProviderUnavailable, type TokenCache } from '../providers/driver.ts';

export type TokenCacheOptions = {
  readonly pool: Pool;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly slotId: string;
  /** Milliseconds to wait for a token that another hub is requesting. Default: 13 000. */
  readonly waitMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
};

type Token = { readonly token: string; readonly useUntil: Date };
type Stored = { readonly sealed: Buffer; readonly token: Token };

/** Longer than a token request may take. If the hub dies meanwhile, the others wait for as long. */
export const GRANT_LEASE_MS = 12_000;
const WAIT_MS = GRANT_LEASE_MS + 1_000;
const POLL_MS = 100;

/** The associated data of a slot's access token. */
export function tokenSealedFor(slotId: string): string {
  return `provider_token:${slotId}`;
}

/**
 * `get` throws ProviderUnavailable if another hub holds the lease for too long, and whatever `grant` throws.
 */
export function createTokenCache(options: TokenCacheOptions): TokenCache {
  const { pool, sealer, clock, slotId, waitMs = WAIT_MS, signal } = options;
  const about = tokenSealedFor(slotId);
  let known: Token | undefined;
  let request: Promise<Token> | undefined;

  const isUsable = (token: Token, rejected: string | undefined): boolean =>
    token.token !== rejected && token.useUntil > clock();

  const fromNow = (ms: number): Date => new Date(clock().getTime() + ms);

  // Stored times are the database's, because the clocks of hubs may differ. A hub's clock only measures
  // durations.
  const read = async (): Promise<Stored | undefined> => {
    const { rows } = await pool.query<{ sealed: Buffer; useForMs: number }>({
      name: 'read_provider_token',
      text: `select sealed_token as sealed, ${epochMs('expires_at - now()')} as "useForMs"
             from provider_token where slot_id = $1 and sealed_token is not null`,
      values: [slotId],
    });
    const [row] = rows;
    if (row === undefined) return undefined;
    const token = sealer.open(row.sealed, about).toString();
    return { sealed: row.sealed, token: { token, useUntil: fromNow(row.useForMs) } };
  };

  /**
   * Returns the end of the lease, which identifies it; undefined if another hub has it or has replaced the
   * token.
   */
  const takeLease = async (replaces: Buffer | undefined): Promise<string | undefined> => {
    const { rows } = await pool.query<{ until: string }>({
      name: 'lease_provider_token',
      text: `insert into provider_token as t (slot_id, granting_until)
             values ($1, now() + $2 * interval '1 millisecond')
             on conflict (slot_id) do update set granting_until = excluded.granting_until
             where (t.granting_until is null or t.granting_until <= now()) and t.sealed_token is not distinct
               from $3
             returning granting_until::text as until`,
      values: [slotId, GRANT_LEASE_MS, replaces ?? null],
    });
    return rows[0]?.until;
  };

  const endLease = (lease: string, sealed: Buffer | null, useForMs: number | null): Promise<unknown> =>
    pool.query({
      name: 'end_provider_token_lease',
      text: `update provider_token
             set granting_until = null, sealed_token = coalesce($3, sealed_token),
                 expires_at = coalesce(now() + $4 * interval '1 millisecond', expires_at)
             where slot_id = $1 and granting_until = $2`,
      values: [slotId, lease, sealed, useForMs],
    });

  const renew = async (grant: () => Promise<GrantedToken>, lease: string): Promise<Token> => {
    const start = performance.now();
    try {
      const { token, expiresInSeconds } = await grant();
      const useForMs = usableMs(expiresInSeconds) - (performance.now() - start);
      await endLease(lease, sealer.seal(Buffer.from(token), about), useForMs);
      return { token, useUntil: fromNow(useForMs) };
    } catch (error) {
      await endLease(lease, null, null).catch(() => {}); // the lease expires
      throw error;
    }
  };

  const obtain = async (grant: () => Promise<GrantedToken>, rejected: string | undefined): Promise<Token> => {
    const deadline = performance.now() + waitMs;
    do {
      const stored = await read();
      if (stored !== undefined && isUsable(stored.token, rejected)) return stored.token;
      const lease = await takeLease(stored?.sealed);
      if (lease !== undefined) return renew(grant, lease);
      await setTimeout(POLL_MS);
    } while (performance.now() < deadline && !signal?.aborted);
    throw new ProviderUnavailable(
      'another hub is requesting an access token from the provider, without success yet',
    );
  };

  return {
    async get(grant, rejected) {
      if (known !== undefined && isUsable(known, rejected)) return known.token;
      while (request !== undefined) {
        const { token } = await request;
        if (token !== rejected) return token;
      }
      request = obtain(grant, rejected).finally(() => {
        request = undefined;
      });
      known = await request;
      return known.token;
    },
  };
}

/** A token is replaced when a tenth of its lifetime is left, but at most a minute before it expires. */
function usableMs(expiresInSeconds: number): number {
  const lifeMs = expiresInSeconds * 1000;
  return lifeMs - Math.min(lifeMs / 10, 60_000);
}
