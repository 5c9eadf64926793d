// Indexes that hold with millions of rows: none that nothing reads, none that has to be sorted after it was read.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261124000000_indexes_at_scale extends Migration {
  override up(): void {
    // Nothing deletes profiles and rules, so nobody ever looked into these.
    this.addSql('drop index license_limit_profile_idx');
    this.addSql('drop index fee_line_fee_rule_idx');

    // Each seat is in one index by its license, as long as it is active in another one than afterwards: whatever is asked
    // about the active seats of a license never reads its history. Lists read both.
    this.addSql('drop index seat_machine_idx');
    this.addSql('drop index seat_license_idx');
    this.addSql(`
      create index seat_released_idx on seat (license_id, machine_fingerprint) where released_at is not null`);

    // One index for both: a session by the payment's id alone, and its uniqueness within a slot.
    this.addSql('drop index charge_session_provider_payment_id_idx');
    this.addSql('drop index charge_session_provider_payment_id_key');
    this.addSql(`
      create unique index charge_session_provider_payment_id_key on charge_session (provider_payment_id, slot_id)
        where provider_payment_id is not null`);

    // Read in the order of the ids, so that nobody looks for them among all that are not dealt with yet.
    this.addSql('drop index callback_waiting_idx');
    this.addSql(`
      create index callback_waiting_idx on callback (session_id, id)
        where state = 'received' and session_id is not null`);

    // Lists of a span of time are read in its order, page by page.
    this.addSql('create index charge_session_created_idx on charge_session (created_at, id)');
    this.addSql('drop index usage_log_settled_idx');
    this.addSql('create index usage_log_settled_idx on usage_log (settled_at, id)');
    this.addSql('drop index usage_log_slot_idx');
    this.addSql('create index usage_log_slot_idx on usage_log (slot_id, settled_at, id)');
    this.addSql('drop index audit_entry_at_idx');
    this.addSql('create index audit_entry_at_idx on audit_entry (at, id)');
  }
}
