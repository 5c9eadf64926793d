// The tables of the license module: apps with their signing keys, the secrets of license keys, limit
// profiles, licenses and seats.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000005_license extends Migration {
  override up(): void {
    this.addApps();
    this.addKeySecrets();
    this.addLicenses();
    this.addLicenseActivity();
    this.addReplacedKeys();
    this.addSeats();
  }

  private addApps(): void {
    this.addSql(`
      create table app (
        id uuid primary key,
        slug text not null constraint app_slug_key unique,
        name text not null,
        created_at timestamptz(3) not null,
        default_lease_days int,
        default_grace_days int not null default 0,
        default_seat_limit int not null default 1
          constraint app_default_seat_limit_range check (default_seat_limit >= -1 and default_seat_limit <> 0)
      )`);
    this.addSql(`
      create table signing_key (
        id uuid primary key,
        app_id uuid not null constraint signing_key_app_id_foreign references app (id) on delete restrict,
        kid text not null constraint signing_key_kid_key unique,
        public_key_pem text not null,
        sealed_private_key bytea not null,
        created_at timestamptz(3) not null,
        retired_at timestamptz(3),
        withdrawn_at timestamptz(3),
        constraint signing_key_retired_first check (withdrawn_at is null or retired_at is not null)
      )`);
    this.addSql('create index signing_key_app_idx on signing_key (app_id)');
    this.addSql(
      'create unique index signing_key_active_key on signing_key (app_id) where retired_at is null',
    );
  }

  private addKeySecrets(): void {
    this.addSql(`
      create table key_secret (
        id uuid primary key,
        purpose text not null
          constraint key_secret_purpose_check check (purpose in ('derivation', 'import')),
        sealed_secret bytea not null,
        created_at timestamptz(3) not null,
        retired_at timestamptz(3)
      )`);
    this.addSql('create unique index key_secret_active_key on key_secret (purpose) where retired_at is null');
  }

  private addLicenses(): void {
    this.addSql(`
      create table limit_profile (
        id uuid primary key,
        app_id uuid not null constraint limit_profile_app_id_foreign references app (id) on delete restrict,
        name text not null,
        limits jsonb not null,
        constraint limit_profile_name_key unique (app_id, name)
      )`);
    // seats_used has no index, so with free space in the page (fillfactor) a change of it updates none.
    this.addSql(`
      create table license (
        id uuid primary key,
        app_id uuid not null constraint license_app_id_foreign references app (id) on delete restrict,
        key_hash bytea not null constraint license_key_hash_key unique,
        key_hint text not null,
        seat_limit int not null constraint license_seat_limit_range check (seat_limit >= -1),
        limits jsonb,
        limit_profile_id uuid
          constraint license_limit_profile_id_foreign references limit_profile (id) on delete restrict,
        lease_days int,
        expires_at timestamptz(3),
        created_at timestamptz(3) not null,
        revoked_at timestamptz(3),
        revoke_reason text,
        seats_used int not null default 0 constraint license_seats_used_range check (seats_used >= 0),
        customer_id uuid
          constraint license_customer_id_foreign references customer (id) on delete restrict,
        features text[] not null default '{}',
        grace_days int not null default 0 constraint license_grace_days_range check (grace_days >= 0),
        metadata jsonb not null default '{}',
        signed_metadata text[] not null default '{}',
        valid_for interval,
        terms_version int not null default 1,
        suspended_at timestamptz(3),
        suspend_reason text,
        key_secret_id uuid
          constraint license_key_secret_id_foreign references key_secret (id) on delete restrict,
        key_generation int not null default 1,
        constraint license_one_validity check (valid_for is null or expires_at is null)
      ) with (fillfactor = 90)`);
    this.addSql('create index license_app_idx on license (app_id, id)');
    this.addSql('create index license_customer_idx on license (customer_id, id)');
    // The customers of one app, and the licenses that each has of it in the order of lists.
    this.addSql(`
      create index license_app_customer_idx on license (app_id, customer_id, id)
        where customer_id is not null`);
    // In the order of lists: many imported keys may end with the same symbols.
    this.addSql('create index license_key_hint_idx on license (key_hint, id)');
    this.addSql(`
      create index license_grace_idx on license (grace_days, expires_at, id) where grace_days > 0`);
    this.addSql(`
      create index license_key_secret_idx on license (key_secret_id) where key_secret_id is not null`);
    this.addSql('create index license_expires_idx on license (expires_at, id) where expires_at is not null');
    // Generated columns would cost each activation more: PostgreSQL parses their expressions for each update.
    this.addSql(LICENSE_ENDS_AT);
    this.addSql(`
      create index license_ends_idx on license (license_ends_at(expires_at, grace_days), id)
        where expires_at is not null`);
    this.addSql('create index license_revoked_idx on license (id) where revoked_at is not null');
    this.addSql('create index license_suspended_idx on license (id) where suspended_at is not null');
    this.addSql(`
      create index license_metadata_idx on license using gin (metadata jsonb_path_ops)
        where metadata <> '{}'`);
    this.addSql(`
      create index license_metadata_grams_idx on license using gin (metadata_grams(metadata))
        where metadata <> '{}'`);
  }

  private addLicenseActivity(): void {
    // A table of its own: in a row of license, a new day would add an entry to each index of license.
    this.addSql(`
      create table license_activity (
        license_id uuid primary key
          constraint license_activity_license_id_foreign references license (id) on update cascade
          on delete cascade,
        last_active_on date
      )`);
    // A license that no machine has used comes before all others.
    this.addSql(`
      create index license_activity_day_idx on license_activity
        (coalesce(last_active_on, '1970-01-01'::date), license_id)`);
    this.addSql(ADD_LICENSE_ACTIVITY);
    this.addSql(`
      create trigger license_activity_added after insert on license referencing new table as added
      for each statement execute function add_license_activity()`);
  }

  private addReplacedKeys(): void {
    this.addSql(`
      create table replaced_key (
        key_hash bytea primary key,
        license_id uuid not null
          constraint replaced_key_license_id_foreign references license (id) on delete restrict
      )`);
  }

  private addSeats(): void {
    // last_seen_at has no index either.
    this.addSql(`
      create table seat (
        id uuid primary key,
        license_id uuid not null
          constraint seat_license_id_foreign references license (id) on delete restrict,
        machine_fingerprint text not null,
        machine_label text not null,
        app_version text not null,
        activated_at timestamptz(3) not null,
        last_seen_at timestamptz(3) not null,
        released_at timestamptz(3)
      ) with (fillfactor = 85)`);
    // Active and released seats have an index each: a query for active seats never reads the history.
    this.addSql(`
      create unique index seat_active_key on seat (license_id, machine_fingerprint)
        where released_at is null`);
    this.addSql(`
      create index seat_released_idx on seat (license_id, machine_fingerprint)
        where released_at is not null`);
    this.addSql(COUNT_SEATS);
    this.addSql(`
      create trigger seat_counted_added after insert on seat referencing new table as added
      for each statement execute function seat_count()`);
    this.addSql(`
      create trigger seat_counted_changed after update on seat for each row
      when ((old.license_id, old.released_at is null)
            is distinct from (new.license_id, new.released_at is null))
      execute function seat_count()`);
    this.addSql(`
      create trigger seat_counted_deleted after delete on seat for each row when (old.released_at is null)
      execute function seat_count()`);
    this.addSql(`
      create trigger seat_counted_truncated after truncate on seat for each statement
      execute function seat_count()`);
    this.addSql(ALLOCATE_SEATS);
  }
}

/** When the grace of a license ends; null without an expiry. */
const LICENSE_ENDS_AT = `
  create function license_ends_at(expires_at timestamptz, grace_days int) returns timestamptz
  language sql immutable parallel safe as $$
    select (expires_at at time zone 'UTC' + grace_days * interval '1 day') at time zone 'UTC'
  $$`;

/** Adds the row of a new license to license_activity. A trigger does it for licenses that psql adds, too. */
const ADD_LICENSE_ACTIVITY = `
  create function add_license_activity() returns trigger language plpgsql set search_path from current as $$
  begin
    -- Restored licenses have their row in the backup.
    if current_setting('hub.restoring', true) = 'on' then return null; end if;
    insert into license_activity (license_id) select id from added;
    return null;
  end $$`;

/**
 * Keeps license.seats_used. Triggers do it, so that the number is right whichever way a seat is changed, psql
 * included. Seats are added many at a time and counted once for each license; they are released one by one.
 *
 * The first seat begins the validity of a license that is valid from then on, in calendar months and years of
 * UTC.
 */
const COUNT_SEATS = `
  create function seat_count() returns trigger language plpgsql set search_path from current as $$
  declare
    overfull uuid;
  begin
    -- Restored licenses have their count already.
    if current_setting('hub.restoring', true) = 'on' then return null; end if;
    if tg_op = 'INSERT' then
      with counted as (
        update license l
        set seats_used = l.seats_used + taken.count,
            expires_at = coalesce(l.expires_at,
              (taken.at at time zone 'UTC' + l.valid_for) at time zone 'UTC'),
            valid_for = null
        from (select license_id, count(*) as count, max(activated_at) as at
              from added where released_at is null group by license_id) taken
        where l.id = taken.license_id
        returning l.id, l.seat_limit <> -1 and l.seats_used > l.seat_limit as overfull
      )
      select c.id into overfull from counted c where c.overfull limit 1;
      if overfull is not null then
        raise exception 'license % has no seat left', overfull using errcode = 'check_violation';
      end if;
    elsif tg_op = 'TRUNCATE' then
      update license set seats_used = 0 where seats_used <> 0;
    else
      if old.released_at is null then
        update license set seats_used = seats_used - 1 where id = old.license_id;
      end if;
      if tg_op = 'UPDATE' and new.released_at is null then
        update license set seats_used = seats_used + 1 where id = new.license_id;
      end if;
    end if;
    return null;
  end $$`;

/**
 * Allocates seats to the machines that have none. It leaves out a license that is revoked, suspended,
 * expired, full or locked. Returns an object: for the id of each new seat, the version of the terms and the
 * expiry of its license. Returns null if there are no new seats.
 *
 * Seats change only under the lock of their license, which keeps `seats_used` exact. PostgreSQL checks the
 * conditions on a license again once it has locked the row. Licenses are locked in the order of their ids, so
 * that two calls cannot deadlock.
 */
const ALLOCATE_SEATS = `
  create function allocate_seats(seat_ids uuid[], key_hashes bytea[], machine_fingerprints text[],
    machine_labels text[], app_versions text[], at timestamptz)
  returns jsonb language plpgsql set search_path from current as $$
  declare
    new_seats jsonb;
  begin
    with locked as materialized (
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
        select true as found from seat s
          where s.license_id = l.id and s.machine_fingerprint = t.machine_fingerprint
                                           and s.released_at is null limit 1
      ) active on true
      where active.found is null
    ), allocated as (
      insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, activated_at,
        last_seen_at)
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
    select jsonb_object_agg(s.id, jsonb_build_object(
      'version', l.terms_version,
      'endsAtMs', (extract(epoch from l.ends_at) * 1000)::float8))
    into new_seats from allocated s join locked l on l.id = s.license_id;
    return new_seats;
  end $$`;
