// Claim tokens: with one, a shop or the browser of a customer reads the result of a charge session.
//
// A token is random and stored as its hash. A session can have several: each response to CreateChargeSession
// has a new one, because the hub cannot show an earlier one again.
import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { type Clock, DAY_MS } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { epochMs } from '../../storage/sql/epoch.ts';

export type ClaimTokens = ReturnType<typeof createClaimTokens>;

const PREFIX = 'claim_';
const TOKEN_BYTES = 32;
/** Tokens of one session. */
const MAX_TOKENS = 10;
/** How long a token is valid after the payment. */
const VALID_AFTER_PAYMENT_MS = 7 * DAY_MS;
/** How long a token of a session is valid that nobody pays. */
const VALID_UNPAID_MS = 90 * DAY_MS;

/** After that a token is removed. Nobody pays a checkout that is older than `VALID_UNPAID_MS`. */
const KEPT_MS = VALID_UNPAID_MS + VALID_AFTER_PAYMENT_MS;
const REMOVED_TOKENS = 20;

export function createClaimTokens({ pool, clock }: { pool: Pool; clock: Clock }) {
  return {
    /** Returns a new token of the session with this UUID. The oldest tokens beyond 10 stop working. */
    async issue(sessionId: string): Promise<string> {
      const now = clock();
      const token = PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');
      await pool.query({
        name: 'issue_claim_token',
        // claim_token_session_idx, claim_token_created_idx. Each new token also removes a few old ones.
        text: `with excess as (
                 delete from claim_token where hash in (
                   select hash from claim_token where session_id = $2
                   order by created_at desc offset ${MAX_TOKENS - 1})
               ), expired as (
                 delete from claim_token where hash in (
                   select hash from claim_token where created_at < $4 and session_id <> $2
                   order by created_at limit ${REMOVED_TOKENS} for update skip locked)
               )
               insert into claim_token (hash, session_id, created_at) values ($1, $2, $3)`,
        values: [hashOf(token), sessionId, now, new Date(now.getTime() - KEPT_MS)],
      });
      return token;
    },

    /** @throws HubError `claim_invalid` */
    async check({ sessionId, token, paidAt }: Claim): Promise<void> {
      const { rows } = await pool.query<{ ageMs: number }>({
        name: 'read_claim_token',
        // claim_token_pkey
        text: `select ${epochMs('$3::timestamptz - created_at')} as "ageMs"
               from claim_token where hash = $1 and session_id = $2`,
        values: [hashOf(token), sessionId, clock()],
      });
      const [found] = rows;
      const sinceMs = paidAt === null ? found?.ageMs : clock().getTime() - paidAt.getTime();
      const validMs = paidAt === null ? VALID_UNPAID_MS : VALID_AFTER_PAYMENT_MS;
      if (found !== undefined && sinceMs !== undefined && sinceMs < validMs) return;
      throw new HubError(
        'claim_invalid',
        'the claim token is not one of this session, or it has expired: ' +
          'it is valid until 7 days after the payment',
        { field: 'claimToken' },
      );
    },
  };
}

type Claim = { readonly sessionId: string; readonly token: string; readonly paidAt: Date | null };

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
