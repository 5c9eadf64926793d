// Asks the provider about a session because somebody wants to know now.
import { HubError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { AskProvider } from './ask-provider.ts';
import type { VerificationStep } from './provider.ts';

/**
 * Resolves with what the provider was asked and answered. Rejects with HubError `session_unknown` or
 * `provider_unavailable`, also if somebody else is asking for all of `busyWaitMs`.
 */
export function createRecheck(
  askProvider: AskProvider,
  isKnown: (id: string) => Promise<boolean>,
  busyWaitMs: number,
) {
  return async (sessionId: string): Promise<readonly VerificationStep[]> => {
    const id = parseId('chs', sessionId);
    if (id === undefined || !(await isKnown(id))) {
      throw new HubError('session_unknown', 'there is no charge session with this id', {
        field: 'sessionId',
      });
    }
    const asked = await askProvider({ sessionId: id, evenIfPaid: true, waitMs: busyWaitMs });
    if (asked.kind === 'settled') return asked.steps;
    const reason =
      asked.kind === 'busy' ? 'the provider is being asked about this session already' : asked.reason;
    throw new HubError('provider_unavailable', reason);
  };
}
