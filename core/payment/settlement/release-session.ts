// Releases a payment that is held for review, at an operator's request.
import type { Pool } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { HubError, unknownId } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { lockSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { VerifySession } from '../verification/verification-request.ts';

export type ReleaseOptions = Pick<PaymentDependencies, 'pool' | 'clock' | 'logger'> & {
  readonly verifySession: VerifySession;
  /** Milliseconds to wait for the verification lease. */
  readonly busyWaitMs: number;
};

/**
 * Commits the release, then verifies the session again; only that answer settles the payment. If the provider
 * does not answer, the sweep verifies it. The function throws HubError `session_unknown`, `session_not_held`.
 */
export function createReleaseSession(options: ReleaseOptions) {
  const { pool, verifySession, clock, logger, busyWaitMs } = options;
  return async (sessionId: string, reason: string, actor: Actor) => {
    const id = parseId('chs', sessionId);
    const released = id && (await release(pool, { id, sessionId, reason, actor, at: clock() }));
    if (!released) throw unknownId('chs');
    try {
      await verifySession({ sessionId: id, waitMs: busyWaitMs });
    } catch (err) {
      logger.error({ sessionId, err }, 'could not verify a released session; the sweep will');
    }
    return released;
  };
}

type Release = {
  readonly id: string;
  /** The public id. */
  readonly sessionId: string;
  readonly reason: string;
  readonly actor: Actor;
  readonly at: Date;
};

async function release(pool: Pool, { id, sessionId, reason, actor, at }: Release) {
  return inTransaction(pool, async (client) => {
    const session = await lockSession(client, id);
    if (session === undefined) return undefined;
    const statusReason = `released for settlement: ${reason}`;
    const { rows } = await client.query<{ released: boolean }>({
      name: 'release_session',
      // charge_session_pkey. The session is due at once, in case this hub fails to verify it.
      text: `update charge_session c
             set held_at = null, risk_released_at = coalesce(c.risk_released_at, $2),
                 status_reason = case when was.held_at is null then c.status_reason else $3 end,
                 next_check_at = case when was.held_at is null then c.next_check_at else $2 end
             from (select held_at from charge_session where id = $1) was
             where c.id = $1 and (was.held_at is not null or c.risk_released_at is not null)
             returning was.held_at is not null as released`,
      values: [id, at, statusReason],
    });
    const [row] = rows;
    if (row === undefined) {
      throw new HubError('session_not_held', 'no payment of the session is held for review', {
        field: 'sessionId',
      });
    }
    if (!row.released) return { unchanged: true };
    const { status, verified } = session;
    await recordChangeNow(client, actor, at, {
      action: 'charge_session.release',
      subject: sessionId,
      before: { status, verified },
      after: { status, verified, reason: statusReason },
      detail: { reason },
    });
    return { unchanged: false };
  });
}
