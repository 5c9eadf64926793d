// Looks up the app of license resources, for tokens that are limited to an app.
import type { Pool } from 'pg';
import { createOwnerLookup } from '../../access/owner-lookup.ts';
import type { FindOwner } from '../../access/scope.ts';
import { parseId } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import { hashLicenseKey, normalizeLicenseKey } from '../keys/license-key.ts';

export function createFindApp(
  pool: Pool,
): Pick<FindOwner, 'app' | 'license' | 'licenseKey' | 'seat' | 'customer'> {
  const { find, byId } = createOwnerLookup(pool, 'app.slug');
  return {
    async customer(text, among) {
      const { rows } = await pool.query<{ slug: string }>({
        name: 'app_of_customer',
        // license_customer_idx
        text: `select a.slug from license l join app a on a.id = l.app_id
               where l.customer_id = $1 and a.slug = any($2) limit 1`,
        values: [parseId('cus', text) ?? null, among],
      });
      return rows[0]?.slug;
    },
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
