// The secrets of license keys: opens them, and creates the first one of a purpose.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { HUB, recordChangeNow } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { formatId, newUuid, type Uuid } from '../../ids.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { KeySecret as KeySecretRow } from '../entities.ts';

export type KeySecretPurpose = KeySecretRow['purpose'];

/** An opened secret and its UUID. */
export type OpenedKeySecret = { readonly id: string; readonly secret: KeyObject };

export type KeySecrets = ReturnType<typeof createKeySecrets>;

export type KeySecretsOptions = { readonly pool: Pool; readonly sealer: Sealer; readonly clock: Clock };

const SECRET_BYTES = 32;

export function createKeySecrets({ pool, sealer, clock }: KeySecretsOptions) {
  const opened = new Map<string, KeyObject>();
  const open = ({ id, sealed }: SealedSecret): OpenedKeySecret => {
    let secret = opened.get(id);
    if (secret === undefined) {
      const bytes = sealer.open(sealed, keySecretSealedFor(id));
      secret = createSecretKey(bytes);
      bytes.fill(0);
      opened.set(id, secret);
    }
    return { id, secret };
  };
  /** The active secret of a purpose. Reads the database in each call. */
  const find = async (purpose: KeySecretPurpose): Promise<OpenedKeySecret | undefined> => {
    const row = await readActive(pool, purpose);
    return row && open(row);
  };
  const create = (purpose: KeySecretPurpose): Promise<SealedSecret> =>
    inTransaction(pool, async (client) => {
      await lockKeySecrets(client);
      const existing = await readActive(client, purpose);
      if (existing !== undefined) return existing;
      const now = clock();
      const { id, sealed } = await insertKeySecret(client, sealer, purpose, now);
      await recordChangeNow(client, HUB, now, {
        action: 'key_secret.create',
        subject: formatId('ksec', id),
        before: null,
        after: { purpose },
      });
      return { id, sealed };
    });
  return {
    find,
    /** The same; creates it if there is none. */
    async active(purpose: KeySecretPurpose): Promise<OpenedKeySecret> {
      return (await find(purpose)) ?? open(await create(purpose));
    },
    /** The same within a transaction. @throws Error if there is none */
    async activeIn(client: ClientBase, purpose: KeySecretPurpose): Promise<OpenedKeySecret> {
      const row = await readActive(client, purpose);
      if (row === undefined) throw new Error(`there is no active key secret for ${purpose}`);
      return open(row);
    },
    /** The secret with this UUID, active or retired. An id always names the same secret: it is read once. */
    async get(id: string): Promise<KeyObject> {
      const secret = opened.get(id);
      if (secret !== undefined) return secret;
      const { rows } = await pool.query<SealedSecret>({
        name: 'read_key_secret',
        text: 'select id, sealed_secret as sealed from key_secret where id = $1',
        values: [id],
      });
      const [row] = rows;
      if (row === undefined) throw new Error(`key secret ${id} does not exist`);
      return open(row).secret;
    },
  };
}

type SealedSecret = { readonly id: string; readonly sealed: Buffer };

/** The purpose that a secret is sealed for. */
export function keySecretSealedFor(id: string): string {
  return `key_secret:${id}`;
}

/** Secrets are created one at a time, also by several hubs. Reads and new licenses do not wait. */
export async function lockKeySecrets(client: ClientBase): Promise<void> {
  await client.query('lock table key_secret in share row exclusive mode');
}

/** Inserts a new active secret. The caller holds the lock and has retired the active one. */
export async function insertKeySecret(
  client: ClientBase,
  sealer: Sealer,
  purpose: KeySecretPurpose,
  now: Date,
): Promise<{ readonly id: Uuid; readonly sealed: Buffer }> {
  const id = newUuid();
  const secret = randomBytes(SECRET_BYTES);
  const sealed = sealer.seal(secret, keySecretSealedFor(id));
  secret.fill(0);
  await client.query(
    'insert into key_secret (id, purpose, sealed_secret, created_at) values ($1, $2, $3, $4)',
    [id, purpose, sealed, now],
  );
  return { id, sealed };
}

async function readActive(
  db: Pool | ClientBase,
  purpose: KeySecretPurpose,
): Promise<SealedSecret | undefined> {
  const { rows } = await db.query<SealedSecret>({
    name: 'read_active_key_secret',
    // key_secret_active_key
    text: `select id, sealed_secret as sealed from key_secret
           where purpose = $1 and retired_at is null`,
    values: [purpose],
  });
  return rows[0];
}
