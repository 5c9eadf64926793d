// Takes gateway_one's store id, a credential, out of the journal.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122120000_unjournaled_store_id extends Migration {
  override up(): void {
    this.addSql(`
      update callback set fields = fields - 'store_id'
      where gateway = 'gateway_one' and fields->>'store_id' is not null`);
  }
}
