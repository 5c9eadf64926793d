// Idempotency keys belong to a slot; overlapping fee rules have an order.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261128040000_scoped_keys_and_fee_priority extends Migration {
  override up(): void {
    this.addSql('drop index charge_session_idempotency_key');
    this.addSql(`
      create unique index charge_session_idempotency_key on charge_session (slot_id, idempotency_key)
      where idempotency_key is not null`);
    this.addSql(`
      alter table fee_rule
        add column declared_to timestamptz(3),
        add column slots_may_override boolean not null default false,
        add column added_by_slot boolean not null default false`);
    // A version that ends where a later one begins was ended by it, and had no end of its own.
    this.addSql(`
      update fee_rule r set declared_to = r.valid_to
      where r.valid_to is not null and not exists (
        select from fee_rule n
        where n.name = r.name and n.version > r.version and n.valid_from = r.valid_to
          and n.gateway is not distinct from r.gateway
          and n.slot_id is not distinct from r.slot_id
          and n.currency is not distinct from r.currency
      )`);
  }
}
