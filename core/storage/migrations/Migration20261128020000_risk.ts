// The provider's rating of a payment, and sessions whose payment is held for review because of it.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261128020000_risk extends Migration {
  override up(): void {
    this.addSql(`
      alter table charge_session
        add column risk_level int,
        add column risk_title text,
        add column held_at timestamptz(3),
        add column risk_released_at timestamptz(3)`);
    // Almost no session is in it: only what an operator has to look at.
    this.addSql(`
      create index charge_session_held_idx on charge_session (held_at, id) where held_at is not null`);
  }
}
