// The tables of the payment module: slots and fees, sessions, the callback journal, settlement and refunds.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000006_payment extends Migration {
  override up(): void {
    this.addSlots();
    this.addFeeRules();
    this.addSessions();
    this.addCallbacks();
    this.addUsageLog();
    this.addPaymentIds();
    this.addRefunds();
  }

  private addSlots(): void {
    this.addSql(`
      create table slot (
        id uuid primary key,
        name text not null constraint slot_name_key unique,
        gateway text not null,
        environment text not null
          constraint slot_environment_check check (environment in ('sandbox', 'production')),
        base_url text not null,
        options jsonb not null,
        sealed_credentials bytea not null,
        created_at timestamptz(3) not null,
        rotated_at timestamptz(3) not null,
        disabled_at timestamptz(3),
        return_origins text[] not null default '{}'
      )`);
    this.addSql(`
      create table provider_token (
        slot_id uuid primary key
          constraint provider_token_slot_id_foreign references slot (id) on update cascade on delete cascade,
        sealed_token bytea,
        expires_at timestamptz(3),
        granting_until timestamptz(3)
      )`);
  }

  private addFeeRules(): void {
    this.addSql(`
      create table fee_rule (
        id uuid primary key,
        name text not null,
        version int not null,
        gateway text,
        slot_id uuid constraint fee_rule_slot_id_foreign references slot (id) on delete restrict,
        currency char(3),
        basis_points int not null
          constraint fee_rule_basis_points_range check (basis_points >= 0 and basis_points <= 10000),
        fixed_minor bigint not null,
        min_minor bigint,
        max_minor bigint,
        valid_from timestamptz(3) not null,
        valid_to timestamptz(3),
        created_at timestamptz(3) not null,
        declared_to timestamptz(3),
        slots_may_override boolean not null default false,
        added_by_slot boolean not null default false
      )`);
    this.addSql('create index fee_rule_name_idx on fee_rule (name, version)');
  }

  private addSessions(): void {
    // A verification lease changes no indexed column, so with free space in the page (fillfactor) it updates
    // no index.
    this.addSql(`
      create table charge_session (
        id uuid primary key,
        slot_id uuid not null
          constraint charge_session_slot_id_foreign references slot (id) on delete restrict,
        status text not null
          constraint charge_session_status_check
            check (status in ('pending', 'success', 'failed', 'cancelled')),
        status_reason text not null,
        status_changed_at timestamptz(3) not null,
        amount_minor bigint not null constraint charge_session_amount_positive check (amount_minor > 0),
        currency char(3) not null,
        order_reference text not null,
        customer jsonb not null,
        metadata jsonb not null,
        merchant_transaction_id text not null constraint charge_session_merchant_transaction_id_key unique,
        provider_payment_id text,
        checkout_url text,
        idempotency_key text,
        request_hash bytea,
        gateway_transaction_id text,
        created_at timestamptz(3) not null,
        next_check_at timestamptz(3),
        checks int not null,
        verifying_until timestamptz(3),
        verifying_by uuid,
        callback_verifications int not null default 0,
        verification_allowed_at timestamptz(3),
        status_verified boolean not null default false,
        status_claims int not null default 0,
        risk_level int,
        risk_title text,
        held_at timestamptz(3),
        risk_released_at timestamptz(3),
        fencing_number int not null default 0,
        other_payment_since timestamptz(3),
        has_purchase boolean not null default false,
        callbacks_waited boolean not null default false,
        return_url text,
        language text,
        bank_transaction_id text,
        refunded_minor bigint not null default 0
          constraint charge_session_refunded_range
            check (refunded_minor >= 0 and refunded_minor <= amount_minor),
        refund_check_at timestamptz(3)
      ) with (fillfactor = 80)`);
    this.addSql('create index charge_session_slot_idx on charge_session (slot_id, id)');
    this.addSql('create index charge_session_order_reference_idx on charge_session (order_reference, id)');
    this.addSql('create index charge_session_created_idx on charge_session (created_at, id)');
    this.addSql(`
      create unique index charge_session_idempotency_key on charge_session (slot_id, idempotency_key)
        where idempotency_key is not null`);
    // Finds a session by the payment id alone, and keeps the id unique within a slot.
    this.addSql(`
      create unique index charge_session_provider_payment_id_key
        on charge_session (provider_payment_id, slot_id)
        where provider_payment_id is not null`);
    this.addSql(`
      create index charge_session_slot_check_idx on charge_session (slot_id, next_check_at)
        where next_check_at is not null`);
    this.addSql(`
      create index charge_session_pending_idx on charge_session (created_at) where status = 'pending'`);
    this.addSql(`
      create index charge_session_held_idx on charge_session (held_at, id) where held_at is not null`);
    this.addSql(`
      create index charge_session_refund_check_idx on charge_session (slot_id, refund_check_at)
        where refund_check_at is not null`);
    // Finds the sessions of a customer.
    this.addSql(`
      create index charge_session_customer_email_idx on charge_session (lower(customer->>'email'), id)
        where customer ->> 'email' is not null`);
  }

  private addCallbacks(): void {
    this.addSql(`
      create table callback (
        id uuid primary key,
        gateway text not null,
        claimed_session_id text,
        fields jsonb not null,
        received_at timestamptz(3) not null,
        session_id uuid
          constraint callback_session_id_foreign references charge_session (id) on delete restrict,
        state text not null constraint callback_state_check
          check (state in ('received', 'settled', 'ignored', 'unresolved', 'mismatch', 'dead')),
        reason text not null,
        attempts int not null,
        finished_at timestamptz(3),
        tried_since timestamptz(3)
      ) partition by range (id)`);
    this.addSql('create table callback_default partition of callback default');
    this.addSql('create index callback_session_idx on callback (session_id, id)');
    this.addSql('create index callback_state_idx on callback (state, id)');
    this.addSql(`
      create index callback_waiting_idx on callback (session_id, id)
        where state = 'received' and session_id is not null`);
    this.addSql(`
      create index callback_stray_idx on callback (id) where state = 'received' and session_id is null`);
    // Changes often and in no index.
    this.addSql(`
      create table callback_count (
        session_id uuid primary key constraint callback_count_session_id_foreign
          references charge_session (id) on update cascade on delete restrict,
        kept int not null,
        ignored bigint not null,
        mismatch bigint not null,
        asked_for_at timestamptz(3),
        other_checkouts text[] not null default '{}'
      ) with (fillfactor = 70)`);
    this.addSql(`
      create table verification (
        id uuid primary key,
        session_id uuid not null
          constraint verification_session_id_foreign references charge_session (id) on delete restrict,
        callback_id uuid,
        operation text not null,
        outcome text not null,
        detail text not null,
        asked_at timestamptz(3) not null,
        duration_ms int not null
      ) partition by range (id)`);
    this.addSql('create table verification_default partition of verification default');
    this.addSql('create index verification_session_idx on verification (session_id, id)');
    this.addSql('create index verification_callback_idx on verification (callback_id)');
  }

  private addUsageLog(): void {
    // A payment has the id of its session, which makes it unique; the other kinds have ids of their own.
    this.addSql(`
      create table usage_log (
        id uuid primary key,
        slot_id uuid not null constraint usage_log_slot_id_foreign references slot (id) on delete restrict,
        gateway text not null,
        gateway_transaction_id text not null,
        amount_minor bigint not null,
        currency char(3) not null,
        fee_total_minor bigint not null,
        order_reference text not null,
        settled_at timestamptz(3) not null,
        kind text not null
          constraint usage_log_kind_check check (kind in ('payment', 'reversal', 'refund', 'later_payment')),
        session_id uuid not null,
        reverses uuid,
        received_minor bigint,
        received_currency char(3),
        constraint usage_log_payment_check check ((kind = 'payment') = (id = session_id)),
        constraint usage_log_reverses_check check ((kind = 'reversal') = (reverses is not null)),
        constraint usage_log_sign_check check ((kind in ('reversal', 'refund')) = (amount_minor < 0))
      ) partition by range (id)`);
    this.addSql('create table usage_log_default partition of usage_log default');
    this.addSql('create index usage_log_settled_idx on usage_log (settled_at, id)');
    this.addSql('create index usage_log_slot_idx on usage_log (slot_id, settled_at, id)');
    // Without payments, which are found by their id: settling a payment adds nothing to this index.
    this.addSql(`create index usage_log_session_idx on usage_log (session_id, id) where kind <> 'payment'`);
    this.addSql(`
      create table fee_line (
        usage_log_id uuid not null,
        fee_rule_id uuid not null
          constraint fee_line_fee_rule_id_foreign references fee_rule (id) on delete restrict,
        rule text not null,
        rule_version int not null,
        amount_minor bigint not null,
        primary key (usage_log_id, rule)
      ) partition by range (usage_log_id)`);
    this.addSql('create table fee_line_default partition of fee_line default');
    this.addSql(MONTHS_KEPT);
  }

  private addPaymentIds(): void {
    this.addSql(`
      create table payment_proof (
        gateway text not null,
        kind text not null constraint payment_proof_kind_check check (kind in ('payment', 'bank')),
        value text not null,
        session_id uuid not null
          constraint payment_proof_session_id_foreign references charge_session (id) on delete restrict,
        primary key (gateway, kind, value)
      )`);
    this.addSql(`
      create table duplicate_payment (
        id uuid primary key,
        session_id uuid not null
          constraint duplicate_payment_session_id_foreign references charge_session (id) on delete restrict,
        slot_id uuid not null
          constraint duplicate_payment_slot_id_foreign references slot (id) on delete restrict,
        gateway text not null,
        gateway_transaction_id text not null,
        bank_transaction_id text,
        provider_payment_id text not null,
        amount_minor bigint not null,
        currency char(3) not null,
        found_at timestamptz(3) not null,
        resolved_at timestamptz(3),
        resolution text not null
      )`);
    this.addSql(`
      create unique index duplicate_payment_transaction_key
        on duplicate_payment (gateway, gateway_transaction_id)`);
    this.addSql(`
      create unique index duplicate_payment_bank_key on duplicate_payment (gateway, bank_transaction_id)
        where bank_transaction_id is not null`);
    this.addSql('create index duplicate_payment_session_idx on duplicate_payment (session_id, id)');
    this.addSql('create index duplicate_payment_slot_idx on duplicate_payment (slot_id, id)');
    this.addSql(
      'create index duplicate_payment_open_idx on duplicate_payment (id) where resolved_at is null',
    );
  }

  private addRefunds(): void {
    this.addSql(`
      create table refund (
        id uuid primary key,
        session_id uuid not null
          constraint refund_session_id_foreign references charge_session (id) on delete restrict,
        slot_id uuid not null constraint refund_slot_id_foreign references slot (id) on delete restrict,
        gateway text not null,
        gateway_transaction_id text not null,
        kind text not null constraint refund_kind_check check (kind in ('refund', 'dispute')),
        origin text not null constraint refund_origin_check check (origin in ('hub', 'provider')),
        amount_minor bigint not null constraint refund_amount_positive check (amount_minor > 0),
        currency char(3) not null,
        reason text not null,
        state text not null constraint refund_state_check check (state in ('pending', 'succeeded', 'failed')),
        state_reason text not null,
        gateway_refund_id text,
        idempotency_key text,
        request_hash bytea,
        review_reason text not null default '',
        reviews_part boolean not null default false,
        reviewed_at timestamptz(3),
        resolution text not null default '',
        created_at timestamptz(3) not null,
        finished_at timestamptz(3),
        requested_at timestamptz(3),
        requests int not null default 0,
        missing_since timestamptz(3),
        next_check_at timestamptz(3),
        checks int not null default 0,
        constraint refund_pending_check check ((state = 'pending') = (finished_at is null))
      )`);
    this.addSql(`
      create unique index refund_gateway_refund_key on refund (gateway, gateway_refund_id)
        where gateway_refund_id is not null`);
    this.addSql(`
      create unique index refund_idempotency_key on refund (session_id, idempotency_key)
        where idempotency_key is not null`);
    this.addSql('create index refund_session_idx on refund (session_id, id)');
    this.addSql('create index refund_slot_idx on refund (slot_id, id)');
    this.addSql('create index refund_state_idx on refund (state, id)');
    this.addSql(`
      create index refund_review_idx on refund (id) where review_reason <> '' and reviewed_at is null`);
    this.addSql(`
      create index refund_due_idx on refund (slot_id, next_check_at) where next_check_at is not null`);
    this.addSql(`create index refund_pending_idx on refund (kind, created_at) where state = 'pending'`);
  }
}

/**
 * The ids of a month's rows that stay when the months before a date are dropped. A usage entry has the id of
 * its session or refund, which is older than the settlement: it stays, with its fees, until the month of the
 * settlement is dropped (usage_log_settled_idx).
 */
const MONTHS_KEPT = `
  create or replace function months_kept(parent text, month date, before date) returns setof uuid
  language sql stable as $$
    select id from usage_log
    where parent in ('usage_log', 'fee_line')
      and id >= partition_floor(month) and id < partition_floor((month + interval '1 month')::date)
      and settled_at >= before::timestamp at time zone 'UTC'
  $$`;
