// Shows the key of a license again, and replaces it.
import type { ClientBase } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { recordEvents } from '../../event/outbox.ts';
import { runOnce, storeRequest } from '../../idempotency/once.ts';
import { formatId } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { type License, LicenseSchema } from '../entities.ts';
import { deriveLicenseKey, keyColumns } from '../keys/license-key.ts';
import type { KeySecrets } from '../keys/open-key-secrets.ts';
import { findLicense } from './find-licenses.ts';
import { FIRST_GENERATION } from './insert-licenses.ts';
import type { Issued, Repeatable } from './issue-licenses.ts';

export type LicenseKeysOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly keySecrets: KeySecrets;
};

export function createLicenseKeys({ db, keySecrets, clock }: LicenseKeysOptions) {
  /** Undefined if the hub cannot derive it. */
  const deriveIfAny = async (license: License): Promise<string | undefined> => {
    if (license.keySecret == null) return undefined;
    const secret = await keySecrets.get(license.keySecret.id);
    const licenseKey = deriveLicenseKey(secret, license.id, license.keyGeneration);
    if (keyColumns(licenseKey).keyHash.equals(license.keyHash)) return licenseKey;
    throw new Error(`the stored hash of license ${license.id} is not that of its key`);
  };
  const derive = async (license: License): Promise<string> => {
    const licenseKey = await deriveIfAny(license);
    if (licenseKey === undefined) throw keyNotDerivable();
    return licenseKey;
  };

  /** Moves a license to its next key, and returns that generation's number. */
  const replaceKey = async (
    license: License,
    repeatable: (Repeatable & { readonly scope: string }) | undefined,
    actor: Actor,
  ): Promise<Issued> => {
    const { id: keySecretId, secret } = await keySecrets.active('derivation');
    const now = clock();
    const licenseKey = await inTransaction(db.pool, async (client, send) => {
      const keyGeneration = (await lockForRekey(client, license.id)) + 1;
      const result = { ids: [license.id], keyGeneration };
      if (repeatable) await storeRequest(client, { ...repeatable, result, at: now });
      const newKey = deriveLicenseKey(secret, license.id, keyGeneration);
      const { keyHash, keyHint } = keyColumns(newKey);
      send({
        name: 'rekey_license',
        // license_pkey. The statement reads the hash as it was before.
        text: `with replaced as (
                 insert into replaced_key (key_hash, license_id) select key_hash, id from license
                   where id = $1
               )
               update license set key_secret_id = $2, key_generation = $3, key_hash = $4, key_hint = $5
               where id = $1`,
        values: [license.id, keySecretId, keyGeneration, keyHash, keyHint],
      });
      send(recordEvents(now, [{ type: 'license.rekeyed', objectId: license.id, appId: license.app.id }]));
      await recordChangeNow(client, actor, now, {
        action: 'license.rekey',
        subject: formatId('lic', license.id),
        before: { keyGeneration: keyGeneration - 1 },
        after: { keyGeneration, keySecretId: formatId('ksec', keySecretId) },
      });
      return newKey;
    });
    return { license: await findLicense(db.em(), formatId('lic', license.id)), licenseKey };
  };

  return {
    /**
     * The key that the license with this UUID was issued with. Undefined if the hub cannot derive it, and
     * after it was replaced: the new key may belong to another owner.
     */
    async findIssued(id: string): Promise<string | undefined> {
      const license = await db.em().findOne(LicenseSchema, { id });
      return license?.keyGeneration === FIRST_GENERATION ? deriveIfAny(license) : undefined;
    },

    /** The current key of a license. @throws HubError `license_unknown`, `key_not_derivable` */
    async show(licenseId: string, actor: Actor): Promise<string> {
      const license = await findLicense(db.em(), licenseId);
      const licenseKey = await derive(license);
      await recordChangeNow(db.pool, actor, clock(), {
        action: 'license.show_key',
        subject: licenseId,
        before: null,
        after: null,
        detail: { keyGeneration: license.keyGeneration },
      });
      return licenseKey;
    },

    /**
     * Replaces the key of a license. Its seats stay. The key is empty if a repeated request finds another
     * one.
     *
     * @throws HubError `license_unknown`, `license_revoked`, `idempotency_key_reused`
     */
    async rekey(licenseId: string, repeatable: Repeatable | undefined, actor: Actor): Promise<Issued> {
      const license = await findLicense(db.em(), licenseId);
      const request = repeatable && { ...repeatable, scope: `RekeyLicense:${license.id}` };
      return runOnce(db.pool, request, {
        run: () => replaceKey(license, request, actor),
        async readEarlier({ keyGeneration }) {
          const current = await findLicense(db.em(), licenseId);
          const isCurrent = current.keyGeneration === keyGeneration;
          return { license: current, licenseKey: isCurrent ? await derive(current) : '' };
        },
      });
    },
  };
}

/**
 * Locks a license and returns its key generation. `for update`, as the change of `key_hash` will: other
 * transactions may refer to that unique column.
 */
async function lockForRekey(client: ClientBase, id: string): Promise<number> {
  const { rows } = await client.query<{ keyGeneration: number; revoked: boolean }>({
    name: 'lock_for_rekey',
    // license_pkey
    text: `select key_generation as "keyGeneration", revoked_at is not null as revoked
           from license where id = $1 for update`,
    values: [id],
  });
  const [row] = rows;
  if (row === undefined) throw new Error(`license ${id} does not exist`);
  if (row.revoked) {
    const message = 'this license has been revoked; reinstate it first';
    throw new HubError('license_revoked', message, { field: 'licenseId' });
  }
  return row.keyGeneration;
}

function keyNotDerivable(): HubError {
  const message = 'the hub cannot show an imported key; re-key the license for a key that it can show';
  return new HubError('key_not_derivable', message, { field: 'licenseId' });
}
