// Adds the prices of providers' catalogs that offers name.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123220000_catalog_prices extends Migration {
  override up(): void {
    this.addSql(`alter table offer_version add column catalog_prices jsonb not null default '[]'`);
  }
}
