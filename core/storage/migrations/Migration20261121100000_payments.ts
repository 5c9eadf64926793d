// The payment room as it first was.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121100000_payments extends Migration {
  override up(): void {
    this.addSql(`
      create table slot (
        id uuid not null,
        name text not null,
        gateway text not null,
        environment text not null,
        base_url text not null,
        options jsonb not null,
        sealed_credentials bytea not null,
        created_at timestamptz(3) not null,
        rotated_at timestamptz(3) not null,
        disabled_at timestamptz(3),
        primary key (id),
        constraint slot_name_key unique (name),
        constraint slot_environment_check check (environment in ('sandbox', 'production'))
      )`);
    this.addSql(`
      create table provider_token (
        slot_id uuid not null,
        sealed_token bytea,
        expires_at timestamptz(3),
        granting_until timestamptz(3),
        primary key (slot_id),
        constraint provider_token_slot_id_foreign foreign key (slot_id) references slot (id) on update cascade on delete cascade
      )`);
    this.addSql(`
      create table charge_session (
        id uuid not null,
        slot_id uuid not null,
        status text not null,
        status_reason text not null,
        status_changed_at timestamptz(3) not null,
        amount_minor bigint not null,
        currency char(3) not null,
        order_reference text not null,
        customer jsonb not null,
        metadata jsonb not null,
        merchant_transaction_id text not null,
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
        primary key (id),
        constraint charge_session_merchant_transaction_id_key unique (merchant_transaction_id),
        constraint charge_session_amount_positive check (amount_minor > 0),
        constraint charge_session_status_check check (status in ('pending', 'success', 'failed', 'cancelled')),
        constraint charge_session_slot_id_foreign foreign key (slot_id) references slot (id) on delete restrict
      )`);
    this.addSql(
      'create index charge_session_provider_payment_id_idx on charge_session (provider_payment_id)',
    );
    this.addSql('create index charge_session_slot_idx on charge_session (slot_id, id)');
    this.addSql('create index charge_session_order_reference_idx on charge_session (order_reference, id)');
    this.addSql(
      'create index charge_session_next_check_idx on charge_session (next_check_at) where next_check_at is not null',
    );
    this.addSql(
      'create unique index charge_session_idempotency_key on charge_session (idempotency_key) where idempotency_key is not null',
    );
    this.addSql(
      'create unique index charge_session_provider_payment_id_key on charge_session (slot_id, provider_payment_id) where provider_payment_id is not null',
    );
    this.addSql(`
      create table callback (
        id uuid not null,
        gateway text not null,
        claimed_session_id text,
        fields jsonb not null,
        received_at timestamptz(3) not null,
        session_id uuid,
        state text not null,
        reason text not null,
        attempts int not null,
        finished_at timestamptz(3),
        primary key (id),
        constraint callback_state_check check (state in ('received', 'settled', 'ignored', 'unresolved', 'mismatch', 'dead')),
        constraint callback_session_id_foreign foreign key (session_id) references charge_session (id) on delete restrict
      )`);
    this.addSql('create index callback_session_idx on callback (session_id, id)');
    this.addSql('create index callback_state_idx on callback (state, id)');
    this.addSql(`
      create table verification (
        id uuid not null,
        session_id uuid not null,
        callback_id uuid,
        operation text not null,
        outcome text not null,
        detail text not null,
        asked_at timestamptz(3) not null,
        duration_ms int not null,
        primary key (id),
        constraint verification_session_id_foreign foreign key (session_id) references charge_session (id) on delete restrict,
        constraint verification_callback_id_foreign foreign key (callback_id) references callback (id) on delete restrict
      )`);
    this.addSql('create index verification_session_idx on verification (session_id, id)');
    this.addSql('create index verification_callback_idx on verification (callback_id)');
    this.addSql(`
      create table usage_log (
        id uuid not null,
        session_id uuid not null,
        slot_id uuid not null,
        gateway text not null,
        gateway_transaction_id text not null,
        amount_minor bigint not null,
        currency char(3) not null,
        fee_total_minor bigint not null,
        order_reference text not null,
        settled_at timestamptz(3) not null,
        reversed_at timestamptz(3),
        primary key (id),
        constraint usage_log_session_id_key unique (session_id),
        constraint usage_log_gateway_transaction_id_key unique (gateway, gateway_transaction_id),
        constraint usage_log_session_id_foreign foreign key (session_id) references charge_session (id) on delete restrict,
        constraint usage_log_slot_id_foreign foreign key (slot_id) references slot (id) on delete restrict
      )`);
    this.addSql('create index usage_log_settled_idx on usage_log (settled_at)');
    this.addSql('create index usage_log_slot_idx on usage_log (slot_id, id)');
    this.addSql(`
      create table fee_rule (
        id uuid not null,
        name text not null,
        version int not null,
        gateway text,
        slot_id uuid,
        currency char(3),
        basis_points int not null,
        fixed_minor bigint not null,
        min_minor bigint,
        max_minor bigint,
        valid_from timestamptz(3) not null,
        valid_to timestamptz(3),
        created_at timestamptz(3) not null,
        primary key (id),
        constraint fee_rule_basis_points_range check (basis_points >= 0 and basis_points <= 10000),
        constraint fee_rule_slot_id_foreign foreign key (slot_id) references slot (id) on delete restrict
      )`);
    this.addSql('create index fee_rule_name_idx on fee_rule (name, version)');
    this.addSql(`
      create table fee_line (
        id uuid not null,
        usage_log_id uuid not null,
        fee_rule_id uuid not null,
        rule text not null,
        rule_version int not null,
        amount_minor bigint not null,
        primary key (id),
        constraint fee_line_rule_key unique (usage_log_id, rule),
        constraint fee_line_usage_log_id_foreign foreign key (usage_log_id) references usage_log (id) on delete restrict,
        constraint fee_line_fee_rule_id_foreign foreign key (fee_rule_id) references fee_rule (id) on delete restrict
      )`);
    this.addSql('create index fee_line_fee_rule_idx on fee_line (fee_rule_id)');
  }
}
