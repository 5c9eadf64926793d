// Which statuses the provider itself has confirmed.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122100000_status_verified extends Migration {
  override up(): void {
    this.addSql('alter table charge_session add column status_verified boolean not null default false');
    // Until now the reason told them apart.
    this.addSql(`
      update charge_session set status_verified = true
      where status = 'success' or status <> 'pending' and status_reason not like 'a callback said %'`);
  }
}
