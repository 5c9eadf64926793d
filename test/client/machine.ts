// A customer's machine: a clock, a store, and an application that calls a real hub.
import { createLicenseClient, type LicenseClient, type LicenseClientOptions } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { createMemoryStore, type LicenseStore } from '../../client/state/store.ts';
import type { VirtualTime } from './virtual-time.ts';

export const FREE = { projects: 1, exports: 0 };

export type Machine = {
  readonly clock: Clock & { ahead: number };
  readonly store: LicenseStore;
  /** Method and path of every request so far, such as `GET /v1/status/lic_…`. */
  readonly requests: string[];
  /** Starts the application: nothing but the store is left of its last run. */
  open(options?: Partial<LicenseClientOptions>): Promise<LicenseClient>;
};

export type MachineOptions = Pick<LicenseClientOptions, 'hubUrl' | 'app' | 'trust'> &
  Partial<LicenseClientOptions> & { readonly time: VirtualTime };

export function createMachine({ time, ...options }: MachineOptions): Machine {
  const clock = time.machineClock();
  const store = options.store ?? createMemoryStore();
  const requests: string[] = [];
  const noted: typeof fetch = (input, init) => {
    requests.push(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`);
    return fetch(input, init);
  };
  return {
    clock,
    store,
    requests,
    open: (more = {}) =>
      createLicenseClient({
        machineFingerprint: 'machine-1',
        freeLimits: FREE,
        fetch: noted,
        random: () => 1,
        ...options,
        clock,
        store,
        ...more,
      }),
  };
}

/** What a vendor builds into an application: the active public key of an app. */
export async function publicKeyOf(gatewayUrl: string, app: string): Promise<string> {
  return (await fetch(`${gatewayUrl}/v1/apps/${app}/public-key`)).text();
}

/** The id of that key, which is its thumbprint. */
export async function kidOf(gatewayUrl: string, app: string): Promise<string> {
  const answer = await fetch(`${gatewayUrl}/v1/apps/${app}/jwks.json`);
  const { keys } = (await answer.json()) as { keys: [{ kid: string }] }; // docs/rest.md
  return keys[0].kid;
}
