// Lists licenses by filters. In SQL, because each filter has an index of its own, and the list its order.
import type { Database } from '../../../storage/database.ts';
import { type Page, type PageRequest, readPage, readSpanPage } from '../../../storage/sql/page.ts';
import type { License } from '../../entities.ts';
import type { LicenseStateName, Metadata } from '../../terms.ts';
import { findApp } from '../apps.ts';
import { readLicenses } from '../read-licenses.ts';
import { type Bind, createBinder, type Sql } from './binder.ts';
import { customerCondition } from './by-customer.ts';
import { searchCondition } from './by-search.ts';

export type LicenseFilter = {
  /** Slug of the app. */
  readonly app?: string | undefined;
  readonly state?: LicenseStateName | undefined;
  readonly keyHint?: string | undefined;
  readonly customerId?: string | undefined;
  /** The whole name of the customer. */
  readonly customer?: string | undefined;
  readonly customerEmail?: string | undefined;
  readonly externalRef?: string | undefined;
  readonly metadata: Metadata;
  readonly expiresBefore?: Date | undefined;
  readonly expiresAfter?: Date | undefined;
  /** Days as `2026-01-31`. */
  readonly activeSince?: string | undefined;
  readonly inactiveSince?: string | undefined;
  readonly search?: string | undefined;
};

/** @throws HubError `app_unknown`, `page_token_invalid` */
export async function listLicenses(
  db: Database,
  filter: LicenseFilter,
  request: PageRequest,
  now: Date,
): Promise<Page<License>> {
  const em = db.em();
  const { bind, values } = createBinder();
  const app = filter.app === undefined ? undefined : await findApp(em, filter.app);
  const conditions = [
    ...(app ? [`l.app_id = ${bind(app.id)}`] : []),
    await customerCondition(db.pool, filter, bind),
    await searchCondition(db.pool, filter.search, bind),
    ...ownConditions(filter, now, bind),
  ].filter((condition) => condition !== undefined);
  const read = async (order: Sql, after: Sql[], limit: number): Promise<Row[]> => {
    const { rows } = await db.pool.query<{ id: string; atMs: number }>(
      `select l.id, ${order === 'l.id' ? '0' : `(extract(epoch from ${order}) * 1000)`}::float8 as "atMs"
       from license l where ${[...conditions, ...after].join(' and ') || 'true'}
       order by ${order === 'l.id' ? '' : `${order} desc, `}l.id desc limit ${limit}`,
      values,
    );
    return rows.map(({ id, atMs }) => ({ id, at: new Date(atMs) }));
  };
  const order = orderOf(filter);
  const page =
    order === 'l.id'
      ? await readPage(request, 'lic', (after, limit) =>
          read(order, after ? [`l.id < ${bind(after)}`] : [], limit),
        )
      : await readSpanPage(request, 'lic', 'at', (after, limit) => {
          if (after === undefined) return read(order, [], limit);
          const at = `${bind(after.at)}::timestamptz`;
          const place = order === LAST_ACTIVE ? `(${at} at time zone 'UTC')::date` : at;
          // As two conditions: PostgreSQL enters the index by the first one.
          const later = `(${order} < ${place} or l.id < ${bind(after.id)})`;
          return read(order, [`${order} <= ${place}`, later], limit);
        });
  const ids = page.items.map(({ id }) => id);
  return { ...page, items: await readLicenses(em, ids) };
}

type Row = { readonly id: string; readonly at: Date };

/** The expression of license_active_idx. A license that was never active comes last. */
const LAST_ACTIVE = `coalesce(l.last_active_on, '1970-01-01'::date)`;

/**
 * What a list is ordered by before the id. The order depends on the filters only, so that it is the same for
 * each page. Filters that select few licenses keep the order of ids.
 */
function orderOf(filter: LicenseFilter): Sql {
  const { customerId, customer, customerEmail, externalRef, keyHint, search } = filter;
  const selective = [customerId, customer, customerEmail, externalRef, keyHint, search];
  if (selective.some((value) => value !== undefined)) return 'l.id';
  const { expiresBefore, expiresAfter, state, activeSince, inactiveSince } = filter;
  if (expiresBefore !== undefined || expiresAfter !== undefined || state === 'grace') return 'l.expires_at';
  if (state === 'expired') return 'l.ends_at';
  return activeSince === undefined && inactiveSince === undefined ? 'l.id' : LAST_ACTIVE;
}

/** The conditions on columns of the license itself. */
function ownConditions(filter: LicenseFilter, now: Date, bind: Bind): Sql[] {
  const { keyHint, metadata, expiresBefore, expiresAfter, activeSince, inactiveSince } = filter;
  return [
    ...stateConditions(filter.state, () => `${bind(now)}::timestamptz`),
    // license_key_hint_idx
    ...(keyHint === undefined ? [] : [`l.key_hint = ${bind(keyHint.toUpperCase())}`]),
    // license_metadata_idx
    ...(Object.keys(metadata).length === 0
      ? []
      : [`l.metadata <> '{}' and l.metadata @> ${bind(JSON.stringify(metadata))}::jsonb`]),
    // license_expires_idx
    ...(expiresBefore ? [`l.expires_at < ${bind(expiresBefore)}::timestamptz`] : []),
    ...(expiresAfter ? [`l.expires_at >= ${bind(expiresAfter)}::timestamptz`] : []),
    // license_active_idx
    ...(activeSince === undefined ? [] : [`${LAST_ACTIVE} >= ${bind(realDay(activeSince))}::date`]),
    ...(inactiveSince === undefined ? [] : [`${LAST_ACTIVE} < ${bind(realDay(inactiveSince))}::date`]),
  ];
}

/** A day after the end of its month, such as 31 February, is the first day of the next month. */
function realDay(day: string): string {
  const time = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? `${day.slice(0, 4)}-03-01` : time.toISOString().slice(0, 10);
}

/** The rule of `licenseState`. */
function stateConditions(state: LicenseStateName | undefined, at: () => Sql): Sql[] {
  const running = ['l.revoked_at is null', 'l.suspended_at is null'];
  switch (state) {
    case undefined:
      return [];
    case 'revoked':
      return ['l.revoked_at is not null']; // license_revoked_idx
    case 'suspended':
      return ['l.revoked_at is null', 'l.suspended_at is not null']; // license_suspended_idx
    case 'expired':
      return [...running, `l.ends_at <= ${at()}`]; // license_ends_idx
    case 'grace':
      return [...running, `l.expires_at <= ${at()}`, `l.ends_at > ${at()}`]; // license_expires_idx
    case 'active':
      return [...running, `(l.expires_at is null or l.expires_at > ${at()})`];
  }
}
