// Re-encrypts all sealed secrets with the first master key while the hub is running.
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { type Resealed, resealSecrets, type SealedColumn } from '../../storage/secrets/reseal.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { sealedFor } from './provider-connections.ts';
import { tokenSealedFor } from './token-cache.ts';

export type ReencryptOptions = Pick<PaymentDependencies, 'pool' | 'clock'> & {
  readonly sealer: Sealer;
  /** The sealed columns of the other modules. */
  readonly otherSecrets: readonly SealedColumn[];
};

export type ReencryptSecrets = (actor: Actor) => Promise<Resealed>;

/** Safe to repeat and to run on several hubs at the same time. */
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
