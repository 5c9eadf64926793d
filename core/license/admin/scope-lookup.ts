// Looks up the app of license resources, for tokens that are limited to an app.
import type { Pool } from 'pg';
import { createOwnerLookup } from '../../access/owner-lookup.ts';
import type { FindOwner } from '../../access/scope.ts';
import { parseId } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import type { HashTypedKey } from '../keys/hash-typed-key.ts';

export function createFindApp(
  pool: Pool,
  hashTypedKey: HashTypedKey,
): Pick<FindOwner, 'app' | 'license' | 'licenseKey' | 'seat' | 'customer'> {
  const { find, byId } = createOwnerLookup(pool, 'app.slug');
  return {
    async customer(text, among) {
      const { rows } = await pool.query<{ slug: string }>({
        name: 'app_of_customer',
        // license_customer_idx, purchase_customer_idx
        text: `select a.slug from license l join app a on a.id = l.app_id
               where l.customer_id = $1 and a.slug = any($2)
               union all
               select a.slug from purchase p join offer_version v on v.id = p.offer_version_id
                 join offer f on f.id = v.offer_id join app a on a.id = f.app_id
               where p.customer_id = $1 and a.slug = any($2)
               limit 1`,
        values: [parseId('cus', text) ?? null, among],
      });
      return rows[0]?.slug;
    },
    app: (slug) => find('app where app.slug', isResourceName(slug) ? slug : undefined),
    license: byId('lic', 'app join license l on l.app_id = app.id where l.id'),
    async licenseKey(text) {
      const { rows } = await pool.query<{ slug: string }>({
        name: 'app_of_license_key',
        // license_key_hash_key
        text: `select a.slug from license l join app a on a.id = l.app_id
               where l.key_hash = any ($1::bytea[]) order by array_position($1::bytea[], l.key_hash) limit 1`,
        values: [await hashTypedKey(text)],
      });
      return rows[0]?.slug;
    },
    seat: byId(
      'seat',
      'app join license l on l.app_id = app.id join seat s on s.license_id = l.id where s.id',
    ),
  };
}
