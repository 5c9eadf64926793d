// The licenses of an order, with the keys that it issued.

import { readLicenses } from '../../license/admin/find-licenses.ts';
import { FIRST_GENERATION } from '../../license/admin/insert-licenses.ts';
import { deriveLicenseKey } from '../../license/keys/license-key.ts';
import type { KeySecrets } from '../../license/keys/open-key-secrets.ts';
import type { Database } from '../../storage/database.ts';
import type { StoredOrder } from './read-orders.ts';

export type LicenseWithKey = {
  /** UUID. */
  readonly licenseId: string;
  /** Empty if the order did not issue the license, and after the key was replaced. */
  readonly licenseKey: string;
};

/**
 * A replaced key belongs to the present owner of the license. A license that was only changed is not shown.
 */
export function createReadIssuedKeys(db: Database, keySecrets: Pick<KeySecrets, 'get'>) {
  return async (order: Pick<StoredOrder, 'licenses'>): Promise<LicenseWithKey[]> => {
    const issued = new Set(order.licenses.filter((each) => each.issued).map(({ licenseId }) => licenseId));
    const ids = order.licenses.map(({ licenseId }) => licenseId);
    const licenses = await readLicenses(db.em(), ids);
    return Promise.all(
      licenses.map(async ({ id, keySecret, keyGeneration }) => {
        const isShown = issued.has(id) && keyGeneration === FIRST_GENERATION;
        if (!isShown || keySecret == null) return { licenseId: id, licenseKey: '' };
        const secret = await keySecrets.get(keySecret.id);
        return { licenseId: id, licenseKey: deriveLicenseKey(secret, id, keyGeneration) };
      }),
    );
  };
}
