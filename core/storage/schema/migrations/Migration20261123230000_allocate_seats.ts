// Adds the function that allocates seats.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123230000_allocate_seats extends Migration {
  override up(): void {
    this.addSql(ALLOCATE_SEATS);
  }
}

/**
 * Allocates seats to the machines that have none. Returns a row for each new seat: its id, and the version of the terms
 * and the expiry of its license. It leaves out a license that is revoked, suspended, expired, full or locked.
 *
 * Seats change only under the lock of their license, which keeps `seats_used` exact. PostgreSQL checks the conditions
 * on a license again once it has locked the row. Licenses are locked in the order of their ids, so that two calls
 * cannot deadlock.
 */
const ALLOCATE_SEATS = `
  create function allocate_seats(seat_ids uuid[], key_hashes bytea[], machine_fingerprints text[],
    machine_labels text[], app_versions text[], at timestamptz)
  returns table (seat_id uuid, version int, ends_at timestamptz)
  language plpgsql set search_path from current as $$
  begin
    return query with locked as materialized (
      select l.id, l.key_hash, l.app_id, l.seat_limit, l.seats_used, l.terms_version,
             -- As the trigger seat_counted_added sets it with the first seat.
             coalesce(l.expires_at, (at at time zone 'UTC' + l.valid_for) at time zone 'UTC') as ends_at
      from license l
      where l.key_hash = any(key_hashes) and l.revoked_at is null and l.suspended_at is null
        and (l.expires_at is null or license_ends_at(l.expires_at, l.grace_days) > at)
        and (l.seat_limit = -1 or l.seats_used < l.seat_limit)
      order by l.id for no key update skip locked
    ), unseated as (
      select t.*, l.id as license_id, row_number() over (partition by l.id order by t.position) as nth
      from unnest(seat_ids, key_hashes, machine_fingerprints, machine_labels, app_versions) with ordinality
        as t (id, key_hash, machine_fingerprint, machine_label, app_version, position)
      join locked l on l.key_hash = t.key_hash
      left join lateral (
        -- The limit forces an index scan by license and machine; see check-status.ts.
        select true as found from seat s where s.license_id = l.id and s.machine_fingerprint = t.machine_fingerprint
                                           and s.released_at is null limit 1
      ) active on true
      where active.found is null
    ), allocated as (
      insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, activated_at, last_seen_at)
      select u.id, u.license_id, u.machine_fingerprint, u.machine_label, u.app_version, at, at
      from unseated u join locked l on l.id = u.license_id
      where l.seat_limit = -1 or l.seats_used + u.nth <= l.seat_limit
      on conflict (license_id, machine_fingerprint) where released_at is null do nothing
      returning id, license_id
    ), recorded as (
      insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
      select 'seat.activated', array_agg(s.id), array_agg(l.app_id), array_agg(null::uuid), at
      from allocated s join locked l on l.id = s.license_id having count(*) > 0
    )
    select s.id, l.terms_version, l.ends_at from allocated s join locked l on l.id = s.license_id;
  end $$`;
