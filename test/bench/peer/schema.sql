-- The tables of the peer, with the fewest columns and indexes for the same work. Ids are in time order, like
-- the hub's, so that both append to their indexes.
create table app (slug text primary key, kid text not null, private_key_pem text not null, public_key_pem text not null);
create table license (
  id text primary key,
  app text not null references app,
  key_hash bytea not null unique,
  customer text,
  seat_limit int not null,
  terms_version int not null default 1,
  limits jsonb,
  expires_at timestamptz,
  valid_for interval,
  features text[],
  revoked_at timestamptz
);
create table seat (
  id uuid primary key default uuidv7(),
  license_id text not null references license,
  machine_fingerprint text not null,
  machine_label text not null,
  app_version text not null,
  last_seen_at timestamptz not null,
  released_at timestamptz
);
create unique index seat_active on seat (license_id, machine_fingerprint) where released_at is null;

create table offer (
  slug text primary key,
  app text not null references app,
  name text not null,
  seat_limit int not null,
  features text[] not null,
  valid_for interval
);
create table charge_session (
  id text primary key,
  transaction_id text not null unique,
  status text not null,
  amount_minor bigint not null,
  currency text not null,
  settled_by text,
  offer text references offer,
  customer text
);
create table sales_order (
  id uuid primary key default uuidv7(),
  session_id text not null unique references charge_session,
  state text not null,
  created_at timestamptz not null
);
create table order_license (
  order_id uuid not null references sales_order,
  license_id text not null references license,
  primary key (order_id, license_id)
);
create table callback (
  id uuid primary key default uuidv7(),
  session_id text,
  fields jsonb not null,
  received_at timestamptz not null,
  state text not null
);
create table callback_count (session_id text primary key references charge_session, kept int not null);
create table verification (
  id uuid primary key default uuidv7(),
  session_id text not null references charge_session,
  callback_id uuid,
  operation text not null,
  outcome text not null,
  asked_at timestamptz not null,
  duration_ms int not null
);
create table usage_log (
  session_id text primary key references charge_session,
  gateway_transaction_id text not null unique,
  bank_transaction_id text unique,
  amount_minor bigint not null,
  currency text not null,
  settled_at timestamptz not null
);
create table fee_rule (id uuid primary key, name text not null unique, basis_points int not null, fixed_minor bigint not null);
create table fee_line (
  session_id text not null references charge_session,
  rule text not null,
  amount_minor bigint not null,
  primary key (session_id, rule)
);
-- The changes that webhooks would report, like the hub's outbox.
create table event (id uuid primary key default uuidv7(), at timestamptz not null, type text not null, subject text not null);
create table audit_entry (id uuid primary key default uuidv7(), at timestamptz not null, subject text not null, change jsonb not null);
