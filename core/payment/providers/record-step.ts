// Records a call to a provider with its result and duration.
import {
  type ProviderAccess,
  ProviderRefused,
  ProviderUnavailable,
  type VerificationStep,
} from './driver.ts';

/**
 * Runs `call`; `describe` maps its result to the recorded outcome. Refusals and missing answers are recorded
 * too.
 */
export async function recordStep<T>(
  { observe, clock }: Pick<ProviderAccess, 'observe' | 'clock'>,
  operation: string,
  call: () => Promise<T>,
  describe: (result: T) => Pick<VerificationStep, 'outcome' | 'detail'>,
): Promise<T> {
  const askedAt = clock();
  const start = performance.now();
  const report = (result: Pick<VerificationStep, 'outcome' | 'detail'>): void => {
    const { outcome, detail } = result;
    observe({ operation, outcome, detail, askedAt, durationMs: Math.round(performance.now() - start) });
  };
  try {
    const result = await call();
    report(describe(result));
    return result;
  } catch (error) {
    if (error instanceof ProviderUnavailable) report({ outcome: 'unavailable', detail: error.message });
    if (error instanceof ProviderRefused) report({ outcome: 'not_paid', detail: error.message });
    throw error;
  }
}
