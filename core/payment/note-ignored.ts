// Callbacks whose status is of no consequence: all there is to do is to journal them, so that is all that is done.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import type { CallbackClaim } from './provider.ts';
import { claimedSession, type ReceivedCallback } from './received-callback.ts';
import { AGREES } from './resolve.ts';

/**
 * Commits the callback as it will stay, if it names a session by id and agrees with it. Resolves with false, and does
 * nothing, if it does not: then it takes the way of all others.
 */
export type NoteIgnored = (callback: ReceivedCallback, claim: CallbackClaim) => Promise<boolean>;

export function reasonIgnored({ status }: CallbackClaim): string {
  return `status ${JSON.stringify(status)} is of no consequence`;
}

type Noted = {
  readonly id: string;
  readonly sessionId: string;
  readonly callback: ReceivedCallback;
  readonly claim: CallbackClaim;
};

export function createNoteIgnored({ pool, clock }: { pool: Pool; clock: Clock }): NoteIgnored {
  const note = createBatcher<Noted, boolean>({
    maxSize: 128,
    maxInFlight: 2,
    run: async (noted) => {
      const ids = await noteEach(pool, noted, clock());
      return noted.map(({ id }) => ids.has(id));
    },
  });
  return async (callback, claim) => {
    const sessionId = claimedSession(callback);
    return sessionId !== undefined && note({ id: newUuid(), sessionId, callback, claim });
  };
}

/** The ids of those that agree with their sessions: what resolve.ts finds to say of the others is not for one statement. */
async function noteEach(pool: Pool, noted: readonly Noted[], at: Date): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'note_ignored',
    // charge_session_pkey
    text: `insert into callback (id, gateway, claimed_session_id, fields, session_id, reason, received_at, finished_at,
                                 state, attempts)
           select t.id, t.gateway, t.claimed_session_id, t.fields, c.id, t.reason, $9, $9, 'ignored', 1
           from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::uuid[], $6::text[], $7::text[], $8::text[])
             as t (id, gateway, claimed_session_id, fields, session_id, reason, transaction_id, payment_id)
           join charge_session c on c.id = t.session_id join slot s on s.id = c.slot_id
           where ${AGREES}
           returning id`,
    values: [
      noted.map(({ id }) => id),
      noted.map(({ callback }) => callback.gateway),
      noted.map(({ callback }) => callback.claimedSessionId),
      noted.map(({ callback }) => JSON.stringify(callback.fields)),
      noted.map(({ sessionId }) => sessionId),
      noted.map(({ claim }) => reasonIgnored(claim)),
      noted.map(({ claim }) => claim.merchantTransactionId || null),
      noted.map(({ claim }) => claim.providerPaymentId || null),
      at,
    ],
  });
  return new Set(rows.map(({ id }) => id));
}
