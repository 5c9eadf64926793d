// Lists customers.
import type { Database } from '../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../storage/sql/page.ts';
import { type Customer, CustomerSchema } from './entities.ts';
import { type CustomerFilter, findAppId, findBySearch, readCustomerIds } from './find-customer-ids.ts';

/** Newest first. @throws HubError `app_unknown`, `page_token_invalid` */
export async function listCustomers(
  db: Database,
  filter: CustomerFilter,
  request: PageRequest,
): Promise<Page<Customer>> {
  const appId = filter.app === undefined ? undefined : await findAppId(db.pool, filter.app);
  const found = filter.search === undefined ? undefined : await findBySearch(db.pool, filter.search);
  return readPage(request, 'cus', async (after, limit) => {
    const ids = await readCustomerIds(db.pool, { ...filter, found, appId, after, limit });
    return db.em().find(CustomerSchema, { id: { $in: ids } }, { orderBy: { id: 'desc' } });
  });
}
