// Adds customers, the secrets of license keys, idempotent requests, and the terms that can change after the sale.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123000000_customers_and_terms extends Migration {
  override up(): void {
    this.addSql(SEARCH_GRAMS);
    this.addCustomers();
    this.addKeySecrets();
    this.addSql(`insert into hub_lock values ('license_import')`);
    this.addDefaultTerms();
    this.addLicenseTerms();
    this.addReplacedKeys();
    this.noteLastActiveDay();
    this.addIdempotentRequests();
    this.addSql('alter table service_token drop constraint service_token_role_check');
    this.addSql(`
      alter table service_token add constraint service_token_role_check
        check (role in ('admin', 'operator', 'service', 'viewer', 'monitor', 'gateway', 'shop'))`);
  }

  private addCustomers(): void {
    this.addSql(`
      create table customer (
        id uuid primary key,
        name text not null,
        email text,
        external_ref text constraint customer_external_ref_key unique,
        metadata jsonb not null default '{}',
        sealed_data_key bytea,
        created_at timestamptz(3) not null,
        erased_at timestamptz(3),
        search_grams text[] generated always as
          (search_grams(name || chr(10) || coalesce(email, '') || chr(10) || coalesce(external_ref, ''))) stored
      )`);
    this.addSql('create index customer_name_idx on customer (name, id)');
    this.addSql('create index customer_email_idx on customer (lower(email), id) where email is not null');
    this.addSql('create index customer_search_idx on customer using gin (search_grams)');
    // The sessions of a customer.
    this.addSql(`
      create index charge_session_customer_email_idx on charge_session (lower(customer->>'email'), id)
        where customer ->> 'email' is not null`);
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

  private addDefaultTerms(): void {
    // Apps that exist keep what they had: no lease.
    this.addSql(`
      alter table app
        add default_lease_days int,
        add default_grace_days int not null default 0,
        add default_seat_limit int not null default 1
          constraint app_default_seat_limit_range check (default_seat_limit >= -1 and default_seat_limit <> 0)`);
  }

  private addLicenseTerms(): void {
    this.addSql(`
      alter table license
        add customer_id uuid
          constraint license_customer_id_foreign references customer (id) on delete restrict,
        add features text[] not null default '{}',
        add grace_days int not null default 0 constraint license_grace_days_range check (grace_days >= 0),
        add metadata jsonb not null default '{}',
        add signed_metadata text[] not null default '{}',
        add valid_for interval,
        add terms_version int not null default 1,
        add suspended_at timestamptz(3),
        add suspend_reason text,
        add key_secret_id uuid
          constraint license_key_secret_id_foreign references key_secret (id) on delete restrict,
        add key_generation int not null default 1,
        add last_active_on date,
        add constraint license_one_validity check (valid_for is null or expires_at is null)`);
    this.addSql(`
      insert into customer (id, name, created_at)
      select gen_random_uuid(), customer, min(created_at) from license where customer is not null
      group by customer`);
    this.addSql('update license l set customer_id = c.id from customer c where c.name = l.customer');
    // Also drops license_customer_idx.
    this.addSql('alter table license drop customer');
    this.addSql('create index license_customer_idx on license (customer_id, id)');
    // The customers of one app, and the licenses that each has of it in the order of lists.
    this.addSql(`
      create index license_app_customer_idx on license (app_id, customer_id, id)
        where customer_id is not null`);
    // In the order of lists: many imported keys may end with the same symbols.
    this.addSql('drop index license_key_hint_idx');
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
    // A license that no machine has used comes before all others.
    this.addSql(`
      create index license_active_idx on license (coalesce(last_active_on, '1970-01-01'::date), id)`);
    this.addSql(`
      create index license_metadata_idx on license using gin (metadata jsonb_path_ops)
        where metadata <> '{}'`);
    this.addSql(`
      create index license_metadata_grams_idx on license using gin (metadata_grams(metadata))
        where metadata <> '{}'`);
  }

  private addReplacedKeys(): void {
    this.addSql(`
      create table replaced_key (
        key_hash bytea primary key,
        license_id uuid not null
          constraint replaced_key_license_id_foreign references license (id) on delete restrict
      )`);
  }

  /** A new seat also notes the day: a second update of the license would cost each activation. */
  private noteLastActiveDay(): void {
    this.addSql(COUNT_SEATS);
  }

  private addIdempotentRequests(): void {
    this.addSql(`
      create table idempotent_request (
        scope text not null,
        key text not null,
        request_hash bytea,
        result_ids uuid[] not null,
        key_generation int,
        customer_id uuid constraint idempotent_request_customer_id_foreign references customer (id)
            on delete restrict,
        created_at timestamptz(3) not null,
        constraint idempotent_request_pkey primary key (scope, key)
      )`);
    this.addSql(`
      create index idempotent_request_customer_idx on idempotent_request (customer_id)
        where customer_id is not null`);
  }
}

/**
 * The distinct runs of three characters of a text, in lower case, for searches of substrings. The extension
 * pg_trgm does the same, but not every role may install it.
 */
const SEARCH_GRAMS = `
  create function search_grams(words text) returns text[] language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct substr(t.lowered, n, 3)), '{}')
    from (select lower(words) as lowered) t, generate_series(1, length(t.lowered) - 2) n
  $$;
  create function metadata_grams(metadata jsonb) returns text[] language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct substr(lower(value), n, 3)), '{}')
    from jsonb_each_text(metadata), generate_series(1, length(lower(value)) - 2) n
  $$`;

/** When the grace of a license ends; null without an expiry. */
const LICENSE_ENDS_AT = `
  create function license_ends_at(expires_at timestamptz, grace_days int) returns timestamptz
  language sql immutable parallel safe as $$
    select (expires_at at time zone 'UTC' + grace_days * interval '1 day') at time zone 'UTC'
  $$`;

/**
 * As before, and the day of the activation. The first seat begins the validity of a license that is valid from then on,
 * in calendar months and years of UTC.
 */
const COUNT_SEATS = `
  create or replace function seat_count() returns trigger language plpgsql set search_path from current as $$
  declare
    overfull uuid;
  begin
    -- Restored licenses have their count already.
    if current_setting('hub.restoring', true) = 'on' then return null; end if;
    if tg_op = 'INSERT' then
      with counted as (
        update license l
        set seats_used = l.seats_used + taken.count,
            last_active_on = greatest(l.last_active_on, (taken.at at time zone 'UTC')::date),
            expires_at = coalesce(l.expires_at, (taken.at at time zone 'UTC' + l.valid_for) at time zone 'UTC'),
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
