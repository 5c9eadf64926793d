// Opens what a driver needs for a slot: its credentials, connection pool and access token.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { Environment } from '../entities.ts';
import type { PaymentDriver, TokenCache } from '../providers/driver.ts';
import type { ClosableProviderHttp, ProviderHttpOptions } from '../providers/http.ts';
import type { Providers } from '../verification/verify.ts';
import { openCredentials } from './credentials.ts';
import { withDefaults } from './settings.ts';

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

  const connectionOf = (slot: StoredSlot, { productionUrls }: PaymentDriver): Connection => {
    const { baseUrl, environment, rotatedAtMs } = slot;
    const previous = connections.get(slot.id);
    if (previous?.rotatedAtMs === rotatedAtMs) return previous;
    // The URL of a slot never changes, so a rotation keeps its connections and the calls in progress.
    const http = previous?.http ?? openHttp({ baseUrl, environment, productionUrls });
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
