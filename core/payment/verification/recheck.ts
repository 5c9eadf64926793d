// Verifies a session for a caller who wants the provider's answer now.
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { HubError, unknownId } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import type { FindDuplicates } from '../duplicates/find-and-store-duplicates.ts';
import type { VerificationStep } from '../providers/driver.ts';
import type { SyncRefunds } from '../refunds/sync-refunds.ts';
import { readSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { VerifySession } from './verification-request.ts';

export type RecheckOptions = Pick<PaymentDependencies, 'pool' | 'clock'> & {
  readonly verifySession: VerifySession;
  readonly syncRefunds: Pick<SyncRefunds, 'sync'>;
  readonly findDuplicates: FindDuplicates;
  /** Milliseconds to wait for the verification lease. */
  readonly busyWaitMs: number;
};

/**
 * Resolves with the provider calls. Rejects with HubError `session_unknown` or `provider_unavailable`; the
 * latter also if the verification lease is taken for all of `busyWaitMs`.
 */
export function createRecheck(options: RecheckOptions) {
  const { pool, verifySession, syncRefunds, findDuplicates, clock, busyWaitMs } = options;
  return async (sessionId: string, actor: Actor): Promise<readonly VerificationStep[]> => {
    const id = parseId('chs', sessionId);
    const before = id && (await readSession(pool, id));
    if (!before) throw unknownId('chs');
    // Before the verification: refunds may explain what that reports as a reversal. A provider that does not
    // answer about refunds does not fail the recheck.
    if (before.status === 'success') await syncRefunds.sync(id, busyWaitMs);
    const result = await verifySession({ sessionId: id, includePaid: true, waitMs: busyWaitMs });
    if (result.kind !== 'settled') {
      const isBusy = result.kind !== 'unavailable';
      const reason = isBusy ? 'a verification of this session is in progress already' : result.reason;
      throw new HubError('provider_unavailable', reason);
    }
    // Failing to look for duplicate payments does not fail the recheck.
    if ((await readSession(pool, id))?.status === 'success') await findDuplicates(id, busyWaitMs);
    const after = await readSession(pool, id);
    if (!result.settlement.changed && after?.status === before.status) return result.steps;
    // The settlement has recorded the change; this entry names the caller.
    await recordChangeNow(pool, actor, clock(), {
      action: 'charge_session.recheck',
      subject: sessionId,
      before: { status: before.status },
      after: { status: after?.status ?? before.status },
      detail: { outcome: result.settlement.outcome.reason },
    });
    return result.steps;
  };
}
