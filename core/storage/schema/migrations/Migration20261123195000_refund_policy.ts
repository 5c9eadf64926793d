// Adds what a refund takes back: the policy of offers, and the state of orders and their licenses.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123195000_refund_policy extends Migration {
  override up(): void {
    this.addSql('alter table offer_version add column on_refund text');
    this.addSql(`
      update offer_version set on_refund = case when granted->>'kind' = 'license' then 'suspend' else 'undo' end`);
    this.addSql(`
      alter table offer_version
        alter column on_refund set not null,
        add constraint offer_version_on_refund_check
          check (on_refund in ('suspend', 'revoke', 'keep', 'undo'))`);
    this.addSql(`
      alter table sales_order
        add column refunded_at timestamptz(3),
        drop constraint sales_order_state_check,
        add constraint sales_order_state_check check (state in ('fulfilled', 'blocked', 'refunded'))`);
    this.addSql(`
      alter table order_license
        add column taken_back text constraint order_license_taken_back_check
          check (taken_back in ('suspended', 'revoked', 'undone', 'kept')),
        add column seats_taken int not null default 0,
        add column time_taken_ms bigint not null default 0`);
  }
}
