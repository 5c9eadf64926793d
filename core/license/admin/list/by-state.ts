// The conditions on the state of a license.
import { epochMs } from '../../../storage/sql/epoch.ts';
import type { LicenseStateName } from '../../state.ts';
import type { Bind, Sql } from './sql-parameters.ts';

/** The expression of license_ends_idx: when the grace of a license ends. */
export const ENDS_AT: Sql = 'license_ends_at(l.expires_at, l.grace_days)';

/** The rule of `licenseState`. */
export function stateConditions(state: LicenseStateName | undefined, now: Date, bind: Bind): Sql[] {
  const at = (): Sql => `${bind(now)}::timestamptz`;
  const running = ['l.revoked_at is null', 'l.suspended_at is null'];
  switch (state) {
    case undefined:
      return [];
    case 'revoked':
      return ['l.revoked_at is not null']; // license_revoked_idx
    case 'suspended':
      return ['l.revoked_at is null', 'l.suspended_at is not null']; // license_suspended_idx
    case 'expired':
      return [...running, `${ENDS_AT} <= ${at()}`]; // license_ends_idx
    case 'grace':
      return [...running, `l.expires_at <= ${at()}`, `${ENDS_AT} > ${at()}`];
    case 'active':
      return [...running, `(l.expires_at is null or l.expires_at > ${at()})`];
  }
}

/**
 * A statement for the licenses in grace, the latest expiry first. Each length of grace has a span of time in
 * license_grace_idx: an order by expiry alone would read all expired licenses. `conditions` include those of
 * the state.
 */
export function selectInGrace(conditions: readonly Sql[], now: Sql, limit: number): Sql {
  return `
    with recursive grace (days) as (
      select min(grace_days) from license where grace_days > 0
      union all
      select (select min(grace_days) from license where grace_days > grace.days and grace_days > 0)
      from grace where grace.days is not null
    )
    select x.id, ${epochMs('x.expires_at')} as "atMs"
    from grace cross join lateral (
      select l.id, l.expires_at from license l
      where l.grace_days = grace.days and l.grace_days > 0
        and l.expires_at > (${now} at time zone 'UTC' - grace.days * interval '1 day') at time zone 'UTC'
        and ${conditions.join(' and ')}
      order by l.expires_at desc, l.id desc limit ${limit}
    ) x
    order by x.expires_at desc, x.id desc limit ${limit}`;
}
