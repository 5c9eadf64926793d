// Settlement: fencing numbers, duplicate payments, and kinds of usage log entries.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261128030000_settlement extends Migration {
  override up(): void {
    this.addSql(`
      alter table charge_session
        add column fencing_number int not null default 0,
        add column other_payment_since timestamptz(3)`);

    this.addSql(`
      alter table usage_log
        add column kind text not null default 'payment',
        add column session_id uuid,
        add column reverses uuid`);
    this.addSql('update usage_log set session_id = id');
    this.addSql(REVERSALS);
    this.addSql('alter table usage_log alter column kind drop default, alter column session_id set not null');
    this.addSql('alter table usage_log drop column reversed_at');
    this.addSql(`
      alter table usage_log
        add constraint usage_log_kind_check check (kind in ('payment', 'reversal', 'refund', 'later_payment')),
        add constraint usage_log_payment_check check ((kind = 'payment') = (id = session_id)),
        add constraint usage_log_reverses_check check ((kind = 'reversal') = (reverses is not null)),
        add constraint usage_log_sign_check check ((kind in ('reversal', 'refund')) = (amount_minor < 0))`);
    // A payment is found by its session's id: only the other kinds are in it, so that settling a payment adds nothing.
    this.addSql(`create index usage_log_session_idx on usage_log (session_id, id) where kind <> 'payment'`);

    this.addSql(`
      create table duplicate_payment (
        id uuid not null,
        session_id uuid not null,
        slot_id uuid not null,
        gateway text not null,
        gateway_transaction_id text not null,
        bank_transaction_id text,
        provider_payment_id text not null,
        amount_minor bigint not null,
        currency char(3) not null,
        found_at timestamptz(3) not null,
        resolved_at timestamptz(3),
        resolution text not null,
        primary key (id),
        constraint duplicate_payment_session_id_foreign foreign key (session_id) references charge_session (id) on delete restrict,
        constraint duplicate_payment_slot_id_foreign foreign key (slot_id) references slot (id) on delete restrict
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
}

/** Entries of their own for the payments that are marked as reversed. Their ids are UUIDv7 of the time of the reversal. */
const REVERSALS = `
  insert into usage_log (id, kind, session_id, reverses, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
                         fee_total_minor, order_reference, settled_at)
  select (lpad(to_hex((extract(epoch from reversed_at) * 1000)::bigint), 12, '0')
          || overlay(overlay(right(replace(gen_random_uuid()::text, '-', ''), 20) placing '7' from 1 for 1)
                     placing '8' from 5 for 1))::uuid,
         'reversal', id, id, slot_id, gateway, gateway_transaction_id, -amount_minor, currency, 0, order_reference,
         reversed_at
  from usage_log where reversed_at is not null`;
