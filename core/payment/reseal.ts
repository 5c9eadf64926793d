// Re-sealing everything with the first master key of the ring, while the hub serves.
import type { Pool } from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { type Resealed, resealSecrets, type SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { sealedFor } from './slot-secrets.ts';
import { tokenSealedFor } from './token-cache.ts';

export type ReencryptOptions = {
  readonly pool: Pool;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** What the other rooms have sealed. */
  readonly otherSecrets: readonly SealedColumn[];
};

export type ReencryptSecrets = (actor: Actor) => Promise<Resealed>;

/** Safe to repeat, and to run on several hubs at once. */
export function createReencryptSecrets(options: ReencryptOptions): ReencryptSecrets {
  const { pool, sealer, clock, otherSecrets } = options;
  const columns = [...otherSecrets, ...PAYMENT_SECRETS];
  return (actor) =>
    resealSecrets({
      pool,
      sealer,
      clock,
      columns,
      record: (client, { resealed, masterKeyId, dropped }) =>
        recordChangeNow(client, actor, clock(), {
          action: 'masterkey.rotate',
          subject: masterKeyId,
          before: { masterKeys: [...new Set([masterKeyId, ...dropped])] },
          after: { masterKeys: [masterKeyId], resealed },
        }),
    });
}

const PAYMENT_SECRETS: readonly SealedColumn[] = [
  { table: 'slot', idColumn: 'id', sealedColumn: 'sealed_credentials', about: sealedFor },
  { table: 'provider_token', idColumn: 'slot_id', sealedColumn: 'sealed_token', about: tokenSealedFor },
];
