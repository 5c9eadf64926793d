// Tests a slot's credentials by a harmless call to the provider.

import { ProviderRefused, ProviderUnavailable } from '../providers/driver.ts';
import type { Providers } from './provider-connections.ts';
import type { createSlots } from './slot-admin.ts';

/** A refusal and a missing answer are results, not errors. Rejects with HubError `slot_unknown`. */
export function createTestSlot(slots: ReturnType<typeof createSlots>, providers: Providers) {
  return async (name: string) => {
    const { id } = await slots.get(name);
    const { driver, access } = await providers.forSlot(id, () => {});
    const started = performance.now();
    const result = await driver.testCredentials(access).then(
      ({ detail }) => ({ ok: true, answered: true, detail }),
      (error: unknown) => {
        if (error instanceof ProviderRefused) return { ok: false, answered: true, detail: error.message };
        // The credentials remain untested.
        if (error instanceof ProviderUnavailable)
          return { ok: false, answered: false, detail: error.message };
        throw error;
      },
    );
    return { ...result, durationMs: Math.round(performance.now() - started) };
  };
}
