// A question to a provider, noted with its answer and duration for the session's story.
import {
  type ProviderAccess,
  ProviderRefused,
  ProviderUnavailable,
  type VerificationStep,
} from '../provider.ts';

/** Runs `ask`; `note` says what its result means. A provider that does not answer or refuses is noted as such. */
export async function noted<T>(
  { observe, clock }: Pick<ProviderAccess, 'observe' | 'clock'>,
  operation: string,
  ask: () => Promise<T>,
  note: (result: T) => Pick<VerificationStep, 'outcome' | 'detail'>,
): Promise<T> {
  const askedAt = clock();
  const start = performance.now();
  const observed = (result: Pick<VerificationStep, 'outcome' | 'detail'>): void => {
    const { outcome, detail } = result;
    observe({ operation, outcome, detail, askedAt, durationMs: Math.round(performance.now() - start) });
  };
  try {
    const result = await ask();
    observed(note(result));
    return result;
  } catch (error) {
    if (error instanceof ProviderUnavailable) observed({ outcome: 'unavailable', detail: error.message });
    if (error instanceof ProviderRefused) observed({ outcome: 'not_paid', detail: error.message });
    throw error;
  }
}
