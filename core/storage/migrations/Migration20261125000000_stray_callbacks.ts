// Callbacks that nobody has dealt with are found in the journal itself; sessions have room for what changes about them.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000000_stray_callbacks extends Migration {
  override up(): void {
    this.addSql(`
      create index callback_stray_idx on callback (id) where state = 'received' and session_id is null`);
    // A lease is taken and ended without a change to any index, as long as there is room beside the row.
    this.addSql('alter table charge_session set (fillfactor = 80)');
  }
}
