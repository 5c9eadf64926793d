// Administration of the secrets that license keys are derived from.
import type { ClientBase } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { insertKeySecret, lockKeySecrets } from '../keys/open-key-secrets.ts';

/** A derivation secret, as operators see it. */
export type ListedKeySecret = {
  /** UUID */
  readonly id: string;
  readonly active: boolean;
  readonly createdAt: Date;
  /** Number of licenses whose key is derived from it, counted to MAX_COUNTED. */
  readonly licenses: number;
};

export type KeySecretAdminOptions = { readonly db: Database; readonly sealer: Sealer; readonly clock: Clock };

/** The list is not paginated. */
const MAX_SECRETS = 100;
/** A count reads an index entry for each license. */
const MAX_COUNTED = 10_000;

export function createKeySecretAdmin({ db, sealer, clock }: KeySecretAdminOptions) {
  return {
    /** Newest first. */
    async list(): Promise<ListedKeySecret[]> {
      const { rows } = await db.pool.query<Omit<ListedKeySecret, 'createdAt'> & { createdAtMs: number }>({
        name: 'list_key_secrets',
        // license_key_secret_idx
        text: `select k.id, k.retired_at is null as active, n.licenses::int,
                 ${epochMs('k.created_at')} as "createdAtMs"
               from key_secret k, lateral (
                 select count(*) as licenses
                 from (select from license where key_secret_id = k.id limit ${MAX_COUNTED}) counted
               ) n
               where k.purpose = 'derivation' order by k.id desc limit ${MAX_SECRETS}`,
      });
      return rows.map(({ createdAtMs, ...row }) => ({ ...row, createdAt: new Date(createdAtMs) }));
    },

    /** Creates a new active secret and retires the previous one. @throws HubError `too_many` */
    rotate(actor: Actor): Promise<ListedKeySecret> {
      const now = clock();
      return inTransaction(db.pool, async (client) => {
        await lockKeySecrets(client);
        if ((await countSecrets(client)) >= MAX_SECRETS) {
          throw new HubError('too_many', `a hub has at most ${MAX_SECRETS} key secrets`);
        }
        const { rows } = await client.query<{ id: string }>(
          `update key_secret set retired_at = $1 where purpose = 'derivation' and retired_at is null
           returning id`,
          [now],
        );
        const [retired] = rows;
        const { id } = await insertKeySecret(client, sealer, 'derivation', now);
        await recordChangeNow(client, actor, now, {
          action: 'key_secret.rotate',
          subject: formatId('ksec', id),
          before: { active: retired ? formatId('ksec', retired.id) : null },
          after: { active: formatId('ksec', id) },
        });
        return { id, active: true, createdAt: now, licenses: 0 };
      });
    },
  };
}

async function countSecrets(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from key_secret where purpose = 'derivation'`,
  );
  return rows[0]?.count ?? 0;
}
