// Lists licenses by filters. In SQL, because each filter has an index of its own, and the list its order.
import type { Pool } from 'pg';
import type { ListLicensesRequest } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { Database } from '../../../storage/database.ts';
import { epochMs } from '../../../storage/sql/epoch.ts';
import {
  type Page,
  type PageRequest,
  readPage,
  readSpanPage,
  type SpanPosition,
} from '../../../storage/sql/page.ts';
import type { License } from '../../entities.ts';
import type { LicenseStateName } from '../../state.ts';
import { findApp } from '../find-app.ts';
import { readLicenses } from '../find-licenses.ts';
import { ENDS_AT, selectInGrace, stateConditions } from './by-state.ts';
import { chooseSource, isSelective, type SelectiveFilter } from './choose-source.ts';
import type { Source } from './source.ts';
import { type Bind, createBinder, type Sql } from './sql-parameters.ts';

export type LicenseFilter = SelectiveFilter &
  Pick<ListLicensesRequest, 'app' | 'activeSince' | 'inactiveSince'> & {
    readonly state: LicenseStateName | undefined;
    readonly expiresBefore: Date | undefined;
    readonly expiresAfter: Date | undefined;
  };

/** @throws HubError `app_unknown`, `page_token_invalid` */
export async function listLicenses(
  db: Database,
  filter: LicenseFilter,
  request: PageRequest,
  now: Date,
): Promise<Page<License>> {
  const em = db.em();
  const app = filter.app === undefined ? undefined : await findApp(em, filter.app);
  const { bind, values } = createBinder();
  const order = orderOf(filter);
  const conditions = [
    ...(app ? [`l.app_id = ${bind(app.id)}`] : []),
    ...stateConditions(filter.state, now, bind),
    ...expiryConditions(filter, bind),
    ...activityConditions(filter, order, bind),
  ];
  const list = { pool: db.pool, conditions, bind, values };
  const page = await (order === undefined
    ? pageById(list, await chooseSource(db.pool, filter, bind), request)
    : pageByTime(list, order, request, filter.state === 'grace' ? now : undefined));
  const ids = page.items.map(({ id }) => id);
  return { ...page, items: await readLicenses(em, ids) };
}

type List = {
  readonly pool: Pool;
  readonly conditions: readonly Sql[];
  readonly bind: Bind;
  readonly values: readonly unknown[];
};

function pageById(
  { pool, conditions, bind, values }: List,
  source: Source,
  request: PageRequest,
): Promise<Page<{ id: string }>> {
  return readPage(request, 'lic', async (after, limit) => {
    const later = after ? [`l.id < ${bind(after)}`] : [];
    const statement = source([...conditions, ...later], limit);
    const { rows } = await pool.query<{ id: string }>(statement, [...values]);
    return rows;
  });
}

/** @param graceAt The time at which the licenses are in grace, in a list of these. */
function pageByTime(
  { pool, conditions, bind, values }: List,
  order: Sql,
  request: PageRequest,
  graceAt: Date | undefined,
): Promise<Page<{ id: string; at: Date }>> {
  return readSpanPage(request, 'lic', 'at', async (after, limit) => {
    const all = [...conditions, ...(after ? laterConditions(after, order, bind) : [])];
    const statement = graceAt
      ? selectInGrace(all, `${bind(graceAt)}::timestamptz`, limit)
      : `select l.id, ${epochMs(order)} as "atMs"
         from ${order === LAST_ACTIVE ? LICENSE_WITH_ACTIVITY : 'license l'}
         where ${all.join(' and ')}
         order by ${order} desc, l.id desc limit ${limit}`;
    const { rows } = await pool.query<{ id: string; atMs: number }>(statement, [...values]);
    return rows.map(({ id, atMs }) => ({ id, at: new Date(atMs) }));
  });
}

function laterConditions(after: SpanPosition, order: Sql, bind: Bind): Sql[] {
  const at = `${bind(after.at)}::timestamptz`;
  const place = order === LAST_ACTIVE ? `(${at} at time zone 'UTC')::date` : at;
  // Two conditions, because PostgreSQL uses the first one as the start of its index scan.
  return [`${order} <= ${place}`, `(${order} < ${place} or l.id < ${bind(after.id)})`];
}

/** The expression of license_activity_day_idx. In a list, a license that was never active comes last. */
const LAST_ACTIVE = `coalesce(a.last_active_on, '1970-01-01'::date)`;
const LICENSE_WITH_ACTIVITY = 'license_activity a join license l on l.id = a.license_id';

/**
 * The column or expression that a list is sorted by, before the id; undefined if it is sorted by id alone.
 * The order depends only on the filters, so it is the same for each page. Lists of few licenses are sorted by
 * id.
 */
function orderOf(filter: LicenseFilter): Sql | undefined {
  if (isSelective(filter)) return undefined;
  const { expiresBefore, expiresAfter, state, activeSince, inactiveSince } = filter;
  if (expiresBefore !== undefined || expiresAfter !== undefined || state === 'grace') return 'l.expires_at';
  if (state === 'expired') return ENDS_AT;
  return activeSince === undefined && inactiveSince === undefined ? undefined : LAST_ACTIVE;
}

function expiryConditions({ expiresBefore, expiresAfter }: LicenseFilter, bind: Bind): Sql[] {
  return [
    // license_expires_idx
    ...(expiresBefore ? [`l.expires_at < ${bind(expiresBefore)}::timestamptz`] : []),
    ...(expiresAfter ? [`l.expires_at >= ${bind(expiresAfter)}::timestamptz`] : []),
  ];
}

function activityConditions(
  { activeSince, inactiveSince }: LicenseFilter,
  order: Sql | undefined,
  bind: Bind,
): Sql[] {
  // A list sorted by activity uses license_activity_day_idx, any other license_activity_pkey.
  const day =
    order === LAST_ACTIVE
      ? LAST_ACTIVE
      : `(select ${LAST_ACTIVE} from license_activity a where a.license_id = l.id)`;
  return [
    ...(activeSince === undefined ? [] : [`${day} >= ${bind(realDay(activeSince))}::date`]),
    ...(inactiveSince === undefined ? [] : [`${day} < ${bind(realDay(inactiveSince))}::date`]),
  ];
}

/** A day after the end of its month, such as 31 February, is the first day of the next month. */
function realDay(day: string): string {
  const time = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? `${day.slice(0, 4)}-03-01` : time.toISOString().slice(0, 10);
}
