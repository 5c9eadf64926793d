// Changes the terms of a license in the database, as the hub's administration does.
import { parseId } from '../../../core/ids.ts';
import { query } from '../postgres/databases.ts';

/** Columns of the table `license`. */
type Columns = { readonly [column: string]: unknown };

/** Sets columns and counts a change of the terms. */
export async function changeTerms(databaseUrl: string, licenseId: string, columns: Columns): Promise<void> {
  await setColumns(databaseUrl, licenseId, columns);
  const id = parseId('lic', licenseId);
  await query(databaseUrl, 'update license set terms_version = terms_version + 1 where id = $1', [id]);
}

export function suspend(databaseUrl: string, licenseId: string): Promise<void> {
  return setColumns(databaseUrl, licenseId, { suspended_at: new Date(), suspend_reason: 'not paid' });
}

export function resume(databaseUrl: string, licenseId: string): Promise<void> {
  return setColumns(databaseUrl, licenseId, { suspended_at: null, suspend_reason: null });
}

async function setColumns(databaseUrl: string, licenseId: string, columns: Columns): Promise<void> {
  const names = Object.keys(columns).map((name, index) => `${name} = $${index + 2}`);
  await query(databaseUrl, `update license set ${names.join(', ')} where id = $1`, [
    parseId('lic', licenseId),
    ...Object.values(columns),
  ]);
}
