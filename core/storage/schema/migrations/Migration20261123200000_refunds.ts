// Adds refunds and disputes of paid sessions.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123200000_refunds extends Migration {
  override up(): void {
    this.addToSessions();
    this.addRefunds();
  }

  private addToSessions(): void {
    this.addSql(`
      alter table charge_session
        add column bank_transaction_id text,
        add column refunded_minor bigint not null default 0
          constraint charge_session_refunded_range check (refunded_minor >= 0 and refunded_minor <= amount_minor),
        add column refund_check_at timestamptz(3)`);
    this.addSql(`
      update charge_session c set bank_transaction_id = p.value
      from slot s, payment_proof p
      where s.id = c.slot_id and p.session_id = c.id and p.gateway = s.gateway and p.kind = 'bank'
        and c.status = 'success'`);
    // Spread over a day: the hub checks a few sessions of a slot in a second.
    this.addSql(`
      update charge_session set refund_check_at = now() + random() * interval '1 day'
      where status = 'success' and status_changed_at > now() - interval '120 days'`);
    this.addSql(`
      create index charge_session_refund_check_idx on charge_session (slot_id, refund_check_at)
        where refund_check_at is not null`);
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
