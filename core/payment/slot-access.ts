// What drivers work with: a slot's credentials, opened, and its own connections to the provider.
import type { Pool } from 'pg';
import type { Sealer } from '../storage/sealing.ts';
import type { Providers } from './ask-provider.ts';
import type { Environment } from './entities.ts';
import type { PaymentDriver, TokenCache } from './provider.ts';
import type { ClosableProviderHttp, ProviderHttpOptions } from './provider-http.ts';
import { openCredentials } from './slot-secrets.ts';
import { withDefaults } from './slot-settings.ts';

export type SlotAccess = Providers & {
  /** Closes the connections to all providers; calls under way finish. */
  close(): Promise<void>;
};

export type SlotAccessOptions = {
  readonly pool: Pool;
  readonly sealer: Sealer;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
  readonly openHttp: (slot: ProviderHttpOptions) => ClosableProviderHttp;
  readonly openTokens: (slotId: string) => TokenCache;
};

/** The slot is read for each use, so that a rotation counts at once, on every hub. */
export function createSlotAccess(options: SlotAccessOptions): SlotAccess {
  const { pool, sealer, driverOf, openHttp, openTokens } = options;
  const connections = new Map<string, Connection>();
  const retired: Connection[] = [];

  const connectionOf = (slot: StoredSlot, { productionUrls }: PaymentDriver): Connection => {
    const { baseUrl, environment, rotatedAtMs } = slot;
    const former = connections.get(slot.id);
    if (former?.rotatedAtMs === rotatedAtMs) return former;
    // Not closed yet: a call under way may still have a request to make. Its idle connections end by themselves.
    if (former) retired.push(former);
    const http = openHttp({ baseUrl, environment, productionUrls });
    const connection = { rotatedAtMs, http, tokens: openTokens(slot.id) };
    connections.set(slot.id, connection);
    return connection;
  };

  return {
    async forSlot(slotId, observe) {
      const slot = await readSlot(pool, slotId);
      const driver = driverOf(slot.gateway);
      const { http, tokens } = connectionOf(slot, driver);
      const credentials = openCredentials(sealer, slotId, slot.sealedCredentials);
      const options = withDefaults(driver, slot.options);
      return {
        driver,
        access: { slotId, baseUrl: slot.baseUrl, credentials, options, http, tokens, observe },
      };
    },

    async close() {
      const open = [...connections.values(), ...retired.splice(0)];
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

async function readSlot(pool: Pool, id: string): Promise<StoredSlot> {
  const { rows } = await pool.query<StoredSlot>({
    name: 'open_slot',
    text: `select id, gateway, environment, base_url as "baseUrl", options, sealed_credentials as "sealedCredentials",
                  (extract(epoch from rotated_at) * 1000)::float8 as "rotatedAtMs"
           from slot where id = $1`,
    values: [id],
  });
  const [slot] = rows;
  if (slot === undefined) throw new Error(`slot ${id} is gone`);
  return slot;
}
