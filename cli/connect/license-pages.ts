// Reads the licenses that match a filter, page by page.
import type { LicenseFilter } from '../parse/license-filter.ts';
import { type LicenseView, licenseView } from '../views/licensing/license.ts';
import type { Hub } from './connection.ts';
import { pages } from './pages.ts';

export type LicensePages = AsyncIterable<readonly LicenseView[]>;

export function licensePages(
  { admin }: Pick<Hub, 'admin'>,
  filter: LicenseFilter,
  max?: number,
): LicensePages {
  return pages(async (page) => {
    const { licenses, nextPageToken } = await admin.listLicenses({ ...filter, ...page });
    return { items: licenses.map(licenseView), next: nextPageToken };
  }, max);
}
