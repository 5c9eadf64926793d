// Adds what the provider says the vendor receives of a payment.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123210000_received_amounts extends Migration {
  /** New columns that may be null: older hubs leave them so. */
  static readonly isCompatible = true;

  override up(): void {
    // No check that both or none are set: it would read the whole table under an exclusive lock.
    this.addSql(
      'alter table usage_log add column received_minor bigint, add column received_currency char(3)',
    );
  }
}
