// To which app the things of this room belong, for tokens that are limited to an app.
import type { Pool } from 'pg';
import type { FindOwner } from '../access/scope.ts';
import { type IdPrefix, parseId } from '../ids.ts';
import { isSlug } from './app-slug.ts';
import { hashLicenseKey, normalizeLicenseKey } from './license-key.ts';

export function createFindApp(pool: Pool): Pick<FindOwner, 'app' | 'license' | 'licenseKey' | 'seat'> {
  const ask = async (from: string, value: unknown): Promise<string | undefined> => {
    if (value === undefined) return undefined;
    const { rows } = await pool.query<{ slug: string }>(`select app.slug from ${from} = $1`, [value]);
    return rows[0]?.slug;
  };
  const byId = (prefix: IdPrefix, from: string) => (text: string) => ask(from, parseId(prefix, text));
  return {
    app: (slug) => ask('app where app.slug', isSlug(slug) ? slug : undefined),
    license: byId('lic', 'app join license l on l.app_id = app.id where l.id'),
    licenseKey: (text) => {
      const key = normalizeLicenseKey(text);
      return ask('app join license l on l.app_id = app.id where l.key_hash', key && hashLicenseKey(key));
    },
    seat: byId(
      'seat',
      'app join license l on l.app_id = app.id join seat s on s.license_id = l.id where s.id',
    ),
  };
}
