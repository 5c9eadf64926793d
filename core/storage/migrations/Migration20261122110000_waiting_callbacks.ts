// Callbacks that wait for the next question about their session; sessions that are due, by their slot.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122110000_waiting_callbacks extends Migration {
  override up(): void {
    this.addSql('alter table callback add column tried_since timestamptz(3)');
    this.addSql(
      `create index callback_waiting_idx on callback (session_id) where state = 'received' and session_id is not null`,
    );
    this.addSql(
      'create index charge_session_slot_check_idx on charge_session (slot_id, next_check_at) where next_check_at is not null',
    );
    this.addSql('drop index charge_session_next_check_idx');
  }
}
