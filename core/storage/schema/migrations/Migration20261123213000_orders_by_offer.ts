// Adds the offer to orders, for the list of the orders of an offer.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123213000_orders_by_offer extends Migration {
  override up(): void {
    this.addSql(`
      alter table sales_order
        add column offer_id uuid constraint sales_order_offer_id_foreign references offer (id) on delete restrict`);
    this.addSql(`
      update sales_order o set offer_id = v.offer_id
      from purchase p join offer_version v on v.id = p.offer_version_id where p.session_id = o.session_id`);
    this.addSql('alter table sales_order alter column offer_id set not null');
    this.addSql('create index sales_order_offer_idx on sales_order (offer_id, id)');
  }
}
