// Reads the licenses that match a filter, page by page.
import type { readFilter } from '../parse/license-filter.ts';
import { licenseView } from '../views/licensing/license.ts';
import type { Hub } from './connection.ts';
import { readPages } from './pages.ts';

export function licensePages({ admin }: Pick<Hub, 'admin'>, filter: ReturnType<typeof readFilter>) {
  return readPages(admin.listLicenses, filter, 'licenses', licenseView);
}
