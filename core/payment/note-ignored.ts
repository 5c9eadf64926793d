// Callbacks whose status is of no consequence: all there is to do is to journal them, so that is all that is done.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { hasPlace, NTH_LAST, takePlaces } from './callback-limit.ts';
import type { CountCallback } from './count-callbacks.ts';
import type { CallbackClaim } from './provider.ts';
import { claimedSession, type ReceivedCallback } from './received-callback.ts';
import { AGREES } from './resolve.ts';

/**
 * Commits the callback as it will stay, if it names a session by id and agrees with it; counts it if the session keeps as
 * many as it may. Resolves with undefined, and does nothing, if it does not agree: then it takes the way of all others.
 */
export type NoteIgnored = (
  callback: ReceivedCallback,
  claim: CallbackClaim,
) => Promise<'kept' | 'counted' | undefined>;

export function reasonIgnored({ status }: CallbackClaim): string {
  return `status ${JSON.stringify(status)} is of no consequence`;
}

type Noted = {
  readonly id: string;
  readonly sessionId: string;
  readonly callback: ReceivedCallback;
  readonly claim: CallbackClaim;
};

export type NoteIgnoredOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Callbacks that a session keeps in full. */
  readonly limit: number;
  readonly count: CountCallback;
};

export function createNoteIgnored({ pool, clock, limit, count }: NoteIgnoredOptions): NoteIgnored {
  const note = createBatcher<Noted, boolean | undefined>({
    maxSize: 128,
    maxInFlight: 2,
    run: async (noted) => {
      const kept = await noteEach(pool, noted, { at: clock(), limit });
      return noted.map(({ id }) => kept.get(id));
    },
  });
  return async (callback, claim) => {
    const sessionId = claimedSession(callback);
    if (sessionId === undefined) return undefined;
    const kept = await note({ id: newUuid(), sessionId, callback, claim });
    if (kept === undefined) return undefined;
    if (!kept) await count({ sessionId, state: 'ignored', asks: false });
    return kept ? 'kept' : 'counted';
  };
}

/**
 * Of those that agree with their sessions, whether they are kept, by their ids: what resolve.ts finds to say of the others
 * is not for one statement.
 */
async function noteEach(
  pool: Pool,
  noted: readonly Noted[],
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<ReadonlyMap<string, boolean>> {
  const { rows } = await pool.query<{ id: string; kept: boolean }>({
    name: 'note_ignored',
    // charge_session_pkey
    text: `with wanted as materialized (
             select t.id, t.gateway, t.claimed_session_id, t.fields, t.reason, c.id as session_id, ${NTH_LAST}
             from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::uuid[], $6::text[], $7::text[], $8::text[])
               as t (id, gateway, claimed_session_id, fields, session_id, reason, transaction_id, payment_id)
             join charge_session c on c.id = t.session_id join slot s on s.id = c.slot_id
             where ${AGREES}
           ), ${takePlaces('$10')}, noted as (
             insert into callback (id, gateway, claimed_session_id, fields, session_id, reason, received_at, finished_at,
                                   state, attempts)
             select w.id, w.gateway, w.claimed_session_id, w.fields, w.session_id, w.reason, $9, $9, 'ignored', 1
             from wanted w join places p on p.session_id = w.session_id where ${hasPlace('$10')}
             returning id
           )
           select w.id, n.id is not null as kept from wanted w left join noted n on n.id = w.id`,
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
      limit,
    ],
  });
  return new Map(rows.map(({ id, kept }) => [id, kept]));
}
