// The license, access and storage rooms as they first were.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121000000_licenses_and_access extends Migration {
  override up(): void {
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
    this.addSql(`
      create table limit_profile (
        id uuid primary key,
        app_id uuid not null constraint limit_profile_app_id_foreign references app (id) on delete restrict,
        name text not null,
        limits jsonb not null,
        constraint limit_profile_name_key unique (app_id, name)
      )`);
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
        revoke_reason text
      )`);
    this.addSql('create index license_app_idx on license (app_id, id)');
    this.addSql('create index license_customer_idx on license (customer, id)');
    this.addSql('create index license_key_hint_idx on license (key_hint)');
    this.addSql('create index license_limit_profile_idx on license (limit_profile_id)');
    this.addSql(`
      create table seat (
        id uuid primary key,
        license_id uuid not null constraint seat_license_id_foreign references license (id) on delete restrict,
        machine_fingerprint text not null,
        machine_label text not null,
        app_version text not null,
        activated_at timestamptz(3) not null,
        last_seen_at timestamptz(3) not null,
        released_at timestamptz(3)
      )`);
    this.addSql(`
      create unique index seat_active_key on seat (license_id, machine_fingerprint) where released_at is null`);
    this.addSql('create index seat_machine_idx on seat (license_id, machine_fingerprint)');
    this.addSql('create index seat_license_idx on seat (license_id, id)');
    this.addSql(`
      create table service_token (
        id uuid primary key,
        name text not null,
        role text not null
          constraint service_token_role_check check (role in ('admin', 'operator', 'service', 'viewer')),
        token_hash bytea not null constraint service_token_hash_key unique,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        revoked_at timestamptz(3)
      )`);
    this.addSql(`
      create table audit_entry (
        id uuid primary key,
        at timestamptz(3) not null,
        actor text not null,
        action text not null,
        subject text not null,
        detail jsonb not null,
        request_id text
      )`);
    this.addSql('create index audit_entry_subject_idx on audit_entry (subject, id)');
    this.addSql('create table master_key_use (key_id text primary key, since timestamptz(3) not null)');
  }
}
