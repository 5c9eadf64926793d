// The key of the audit chain: random, made once, sealed with the master key.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import type { SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { inTransaction } from '../storage/transaction.ts';
import { lockChain } from './audit-chain.ts';

const sealedFor = (id: string): string => `audit_key:${id}`;

/** Where the key lies, to be re-sealed when master keys are rotated. It stays the same key, and the chain holds. */
export const AUDIT_KEY: SealedColumn = {
  table: 'audit_key',
  idColumn: 'id',
  sealedColumn: 'sealed_key',
  about: sealedFor,
};

export type AuditKeyOptions = { readonly pool: Pool; readonly sealer: Sealer; readonly clock: Clock };

/**
 * The key of this database's chain; the first hub makes it.
 * @throws Error if the key is gone although there is a chain, or cannot be opened
 */
export function openAuditKey({ pool, sealer, clock }: AuditKeyOptions): Promise<KeyObject> {
  return inTransaction(pool, async (client) => {
    await lockChain(client);
    const { rows } = await client.query<{ id: string; sealed: Buffer | null; chained: boolean }>(
      `select k.id, k.sealed_key as sealed, exists (select from audit_link) as chained
       from (select 1) one left join audit_key k on true`,
    );
    const [found] = rows;
    if (found?.sealed) return keyOf(sealer.open(found.sealed, sealedFor(found.id)));
    if (found?.chained) {
      throw new Error('the key of the audit chain is gone: bring the row of audit_key back from a backup');
    }
    const [id, key] = [newUuid(), randomBytes(32)];
    await client.query('insert into audit_key (id, sealed_key, created_at) values ($1, $2, $3)', [
      id,
      sealer.seal(key, sealedFor(id)),
      clock(),
    ]);
    return keyOf(key);
  });
}

function keyOf(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}
