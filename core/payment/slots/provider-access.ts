// Gives drivers access to the providers of slots: credentials, connections, access tokens and options. Limits
// the concurrent calls to each provider.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { Secret } from '../../secret.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { Environment } from '../entities.ts';
import {
  type PaymentDriver,
  type ProviderAccess,
  ProviderUnavailable,
  type TokenCache,
  type VerificationStep,
} from '../providers/driver.ts';
import type { ClosableProviderHttp, ProviderHttpOptions } from '../providers/http.ts';

/** Opens a slot: its driver and its credentials. */
export type Providers = {
  forSlot(
    slotId: string,
    observe: (step: VerificationStep) => void,
  ): Promise<{ readonly driver: PaymentDriver; readonly access: ProviderAccess }>;
};

export type SlotAccess = Providers & {
  /** Closes the connections to all providers after the calls in progress. */
  close(): Promise<void>;
};

export type SlotAccessOptions = {
  readonly pool: Pool;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
  readonly openHttp: (slot: ProviderHttpOptions) => ClosableProviderHttp;
  readonly openTokens: (slotId: string) => TokenCache;
};

/**
 * Reads the slot for each use, so that a rotation takes effect at once on every hub. Concurrent reads share a
 * statement.
 */
export function createSlotAccess(options: SlotAccessOptions): SlotAccess {
  const { pool, sealer, clock, driverOf, openHttp, openTokens } = options;
  const connections = new Map<string, Connection>();
  const readSlot = createBatcher<string, StoredSlot>({
    maxSize: 128,
    maxInFlight: 2,
    run: async (ids) => {
      const slots = await readSlots(pool, [...new Set(ids)]);
      return ids.map((id) => slots.get(id) ?? new Error(`slot ${id} is gone`));
    },
  });

  const connectionOf = (slot: StoredSlot, driver: PaymentDriver): Connection => {
    const { environment, rotatedAtMs } = slot;
    const previous = connections.get(slot.id);
    if (previous?.rotatedAtMs === rotatedAtMs) return previous;
    // The URL of a slot never changes, so a rotation keeps its connections and the calls in progress.
    const baseUrl = driver.rootUrl?.(slot.baseUrl) ?? slot.baseUrl;
    const http = previous?.http ?? openHttp({ baseUrl, environment, productionUrls: driver.productionUrls });
    const connection = { rotatedAtMs, http, tokens: openTokens(slot.id) };
    connections.set(slot.id, connection);
    return connection;
  };

  return {
    async forSlot(slotId, observe) {
      const slot = await readSlot(slotId);
      const driver = driverOf(slot.gateway);
      const { http, tokens } = connectionOf(slot, driver);
      const credentials = openCredentials(sealer, slotId, slot.sealedCredentials);
      const options = withDefaults(driver, slot.options);
      return {
        driver,
        access: { slotId, baseUrl: slot.baseUrl, credentials, options, http, tokens, clock, observe },
      };
    },

    async close() {
      const open = [...connections.values()];
      connections.clear();
      await Promise.all(open.map(({ http }) => http.close()));
    },
  };
}

type Connection = {
  readonly rotatedAtMs: number;
  readonly http: ClosableProviderHttp;
  readonly tokens: TokenCache;
};

type StoredSlot = {
  readonly id: string;
  readonly gateway: string;
  readonly environment: Environment;
  readonly baseUrl: string;
  readonly options: Record<string, string>;
  readonly sealedCredentials: Buffer;
  readonly rotatedAtMs: number;
};

async function readSlots(pool: Pool, ids: readonly string[]): Promise<Map<string, StoredSlot>> {
  const { rows } = await pool.query<StoredSlot>({
    name: 'open_slots',
    text: `select id, gateway, environment, base_url as "baseUrl", options, sealed_credentials as
           "sealedCredentials",
                  (extract(epoch from rotated_at) * 1000)::float8 as "rotatedAtMs"
           from slot where id = any($1)`,
    values: [ids],
  });
  return new Map(rows.map((slot) => [slot.id, slot]));
}

/** A slot that is older than an option of its driver has the option's default. */
export function withDefaults(
  driver: PaymentDriver,
  options: Readonly<Record<string, string>>,
): Record<string, string> {
  const defaults = Object.entries(driver.options).map(([name, [first]]) => [name, first] as const);
  return { ...Object.fromEntries(defaults), ...options };
}

export type Credentials = Readonly<Record<string, string>>;

export function sealCredentials(sealer: Sealer, slotId: string, credentials: Credentials): Buffer {
  const plaintext = Buffer.from(JSON.stringify(credentials));
  const sealed = sealer.seal(plaintext, sealedFor(slotId));
  plaintext.fill(0);
  return sealed;
}

/** @throws Error, without secrets, if no master key opens it */
export function openCredentials(sealer: Sealer, slotId: string, sealed: Uint8Array): Secret<Credentials> {
  const plaintext = sealer.open(sealed, sealedFor(slotId));
  const credentials: Credentials = JSON.parse(plaintext.toString());
  plaintext.fill(0);
  return new Secret(credentials);
}

/** The associated data of a slot's credentials: they cannot be opened as those of another slot. */
export function sealedFor(slotId: string): string {
  return `slot:${slotId}`;
}

export type ProviderConcurrency = {
  /** Runs `call` when a place is free. @throws ProviderUnavailable at once if too many calls wait */
  run<T>(slot: string, call: () => Promise<T>): Promise<T>;
  load(slot: string): { readonly running: number; readonly waiting: number };
};

/** Calls that may wait, for each that may run. */
const WAITING_PER_PLACE = 16;

/** `limit`: calls of one slot that run at the same time. `onRejected` gets the name of the slot. */
export function createProviderConcurrency(
  limit: number,
  onRejected: (slot: string) => void,
): ProviderConcurrency {
  const slots = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  return {
    async run(name, call) {
      const slot = slots.get(name) ?? { running: 0, waiting: [] };
      slots.set(name, slot);
      if (slot.running < limit) slot.running += 1;
      else if (slot.waiting.length >= limit * WAITING_PER_PLACE) {
        onRejected(name);
        throw new ProviderUnavailable('too many other calls to this provider are waiting');
      } else await new Promise<void>((resolve) => slot.waiting.push(resolve));
      try {
        return await call();
      } finally {
        // The next call takes over the place, so the count stays.
        const next = slot.waiting.shift();
        if (next !== undefined) next();
        else if (--slot.running === 0) slots.delete(name);
      }
    },
    load(name) {
      const slot = slots.get(name);
      return { running: slot?.running ?? 0, waiting: slot?.waiting.length ?? 0 };
    },
  };
}
