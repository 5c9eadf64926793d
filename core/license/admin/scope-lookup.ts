// Looks up the app of license resources, for tokens that are limited to an app.
import type { Pool } from 'pg';
import { createOwnerLookup } from '../../access/owner-lookup.ts';
import type { FindOwner } from '../../access/scope.ts';
import { isResourceName } from '../../resource-name.ts';
import { hashLicenseKey, normalizeLicenseKey } from '../keys/license-key.ts';

export function createFindApp(pool: Pool): Pick<FindOwner, 'app' | 'license' | 'licenseKey' | 'seat'> {
  const { find, byId } = createOwnerLookup(pool, 'app.slug');
  return {
    app: (slug) => find('app where app.slug', isResourceName(slug) ? slug : undefined),
    license: byId('lic', 'app join license l on l.app_id = app.id where l.id'),
    licenseKey: (text) => {
      const key = normalizeLicenseKey(text);
      return find('app join license l on l.app_id = app.id where l.key_hash', key && hashLicenseKey(key));
    },
    seat: byId(
      'seat',
      'app join license l on l.app_id = app.id join seat s on s.license_id = l.id where s.id',
    ),
  };
}
