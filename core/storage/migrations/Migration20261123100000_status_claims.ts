// How often the status of a session has been changed by what a callback only claimed.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123100000_status_claims extends Migration {
  override up(): void {
    this.addSql('alter table charge_session add column status_claims int not null default 0');
  }
}
