// The tables of the license module: apps with their signing keys, limit profiles, licenses and seats.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122000004_license extends Migration {
  override up(): void {
    this.addApps();
    this.addLicenses();
    this.addSeats();
  }

  private addApps(): void {
    this.addSql(`
      create table app (
        id uuid primary key,
        slug text not null constraint app_slug_key unique,
        name text not null,
        created_at timestamptz(3) not null
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
        customer text,
        seat_limit int not null constraint license_seat_limit_range check (seat_limit >= -1),
        limits jsonb,
        limit_profile_id uuid
          constraint license_limit_profile_id_foreign references limit_profile (id) on delete restrict,
        lease_days int,
        expires_at timestamptz(3),
        created_at timestamptz(3) not null,
        revoked_at timestamptz(3),
        revoke_reason text,
        seats_used int not null default 0 constraint license_seats_used_range check (seats_used >= 0)
      ) with (fillfactor = 90)`);
    this.addSql('create index license_app_idx on license (app_id, id)');
    this.addSql('create index license_customer_idx on license (customer, id)');
    this.addSql('create index license_key_hint_idx on license (key_hint)');
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
  }
}

/**
 * Keeps license.seats_used. Triggers do it, so that the number is right whichever way a seat is changed, psql
 * included. Seats are added many at a time and counted once for each license; they are released one by one.
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
        update license l set seats_used = l.seats_used + taken.count
        from (select license_id, count(*) as count from added
              where released_at is null group by license_id) taken
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
