// Says whether a slot's credentials work, by a harmless call to the provider.
import type { Providers } from './ask-provider.ts';
import { ProviderRefused, ProviderUnavailable } from './provider.ts';
import type { createSlots } from './slots.ts';

export type SlotTest = {
  readonly ok: boolean;
  /** Whether the provider gave an answer; if not, nothing is known of the credentials. */
  readonly answered: boolean;
  /** What the provider said, in a sentence without secrets. */
  readonly detail: string;
  readonly durationMs: number;
};

export type TestSlotOptions = {
  readonly slots: ReturnType<typeof createSlots>;
  readonly providers: Providers;
};

/** A refusal and a provider that does not answer are results. Rejects with HubError `slot_unknown`. */
export function createTestSlot({ slots, providers }: TestSlotOptions) {
  return async (name: string): Promise<SlotTest> => {
    const { id } = await slots.get(name);
    const { driver, access } = await providers.forSlot(id, () => {});
    const started = performance.now();
    const outcome = await driver.testCredentials(access).then(
      ({ detail }) => ({ ok: true, answered: true, detail }),
      (error: unknown) => {
        if (error instanceof ProviderRefused) return { ok: false, answered: true, detail: error.message };
        if (error instanceof ProviderUnavailable)
          return { ok: false, answered: false, detail: error.message };
        throw error;
      },
    );
    return { ...outcome, durationMs: Math.round(performance.now() - started) };
  };
}
