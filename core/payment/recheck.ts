// Asks the provider about a session because somebody wants to know now.
import type { Pool } from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { AskProvider } from './ask-provider.ts';
import type { FindDuplicates } from './find-duplicates.ts';
import type { VerificationStep } from './provider.ts';
import { readSession } from './session-facts.ts';

export type RecheckOptions = {
  readonly pool: Pool;
  readonly askProvider: AskProvider;
  readonly findDuplicates: FindDuplicates;
  readonly clock: Clock;
  /** Milliseconds to wait for somebody else who is asking about the session. */
  readonly busyWaitMs: number;
};

/**
 * Resolves with what the provider was asked and answered. Rejects with HubError `session_unknown` or
 * `provider_unavailable`, also if somebody else is asking for all of `busyWaitMs`.
 */
export function createRecheck({ pool, askProvider, findDuplicates, clock, busyWaitMs }: RecheckOptions) {
  return async (sessionId: string, actor: Actor): Promise<readonly VerificationStep[]> => {
    const id = parseId('chs', sessionId);
    const before = id && (await readSession(pool, id));
    if (!before) {
      throw new HubError('session_unknown', 'there is no charge session with this id', {
        field: 'sessionId',
      });
    }
    const asked = await askProvider({ sessionId: id, evenIfPaid: true, waitMs: busyWaitMs });
    if (asked.kind === 'settled') {
      // Of a paid session also whether it was paid twice. An answer that is missing does not make the recheck fail.
      if ((await readSession(pool, id))?.status === 'success') await findDuplicates(id, busyWaitMs);
      if (!asked.settlement.changed) return asked.steps;
      // The settlement has recorded the change; this says who looked.
      const after = await readSession(pool, id);
      await recordChangeNow(pool, actor, clock(), {
        action: 'charge_session.recheck',
        subject: sessionId,
        before: { status: before.status },
        after: { status: after?.status ?? before.status },
        detail: { outcome: asked.settlement.outcome.reason },
      });
      return asked.steps;
    }
    const reason =
      asked.kind === 'unavailable' ? asked.reason : 'the provider is being asked about this session already';
    throw new HubError('provider_unavailable', reason);
  };
}
