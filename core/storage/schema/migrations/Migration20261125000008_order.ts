// The tables of the order module: offers, the purchases that charge sessions make of them, and the orders of
// paid sessions.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000008_order extends Migration {
  override up(): void {
    this.addOffers();
    this.addPurchases();
    this.addOrders();
  }

  private addOffers(): void {
    this.addSql(`
      create table offer (
        id uuid primary key,
        app_id uuid not null constraint offer_app_id_foreign references app (id) on delete restrict,
        slug text not null,
        version int not null,
        created_at timestamptz(3) not null,
        archived_at timestamptz(3),
        constraint offer_slug_key unique (app_id, slug)
      )`);
    this.addSql(`
      create table offer_version (
        id uuid primary key,
        offer_id uuid not null constraint offer_version_offer_id_foreign references offer (id)
          on delete restrict,
        version int not null,
        name text not null,
        prices jsonb not null,
        granted jsonb not null,
        page_slot_id uuid constraint offer_version_page_slot_id_foreign references slot (id)
          on delete restrict,
        download_url text not null default '',
        created_at timestamptz(3) not null,
        on_refund text not null
          constraint offer_version_on_refund_check check (on_refund in ('suspend', 'revoke', 'keep', 'undo')),
        catalog_prices jsonb not null default '[]',
        constraint offer_version_version_key unique (offer_id, version)
      )`);
  }

  private addPurchases(): void {
    this.addSql(`
      create table purchase (
        session_id uuid primary key
          constraint purchase_session_id_foreign references charge_session (id) on update cascade
            on delete restrict,
        offer_version_id uuid not null
          constraint purchase_offer_version_id_foreign references offer_version (id) on delete restrict,
        quantity int not null,
        customer_id uuid constraint purchase_customer_id_foreign references customer (id) on delete restrict,
        license_id uuid constraint purchase_license_id_foreign references license (id) on delete restrict,
        constraint purchase_quantity_positive check (quantity > 0)
      )`);
    this.addSql(`create index purchase_customer_idx on purchase (customer_id) where customer_id is not null`);
    this.addSql(`
      create table claim_token (
        hash bytea primary key,
        session_id uuid not null
          constraint claim_token_session_id_foreign references charge_session (id) on delete restrict,
        created_at timestamptz(3) not null
      )`);
    this.addSql('create index claim_token_session_idx on claim_token (session_id, created_at)');
    this.addSql('create index claim_token_created_idx on claim_token (created_at)');
  }

  private addOrders(): void {
    this.addSql(`
      create table sales_order (
        id uuid primary key,
        session_id uuid not null constraint sales_order_session_id_key unique
          constraint sales_order_session_id_foreign references purchase (session_id) on delete restrict,
        app_id uuid not null constraint sales_order_app_id_foreign references app (id) on delete restrict,
        slot_id uuid not null constraint sales_order_slot_id_foreign references slot (id) on delete restrict,
        customer_id uuid constraint sales_order_customer_id_foreign references customer (id)
          on delete restrict,
        state text not null constraint sales_order_state_check
          check (state in ('fulfilled', 'blocked', 'refunded')),
        reason text not null default '',
        created_at timestamptz(3) not null,
        fulfilled_at timestamptz(3),
        refunded_at timestamptz(3),
        offer_id uuid not null constraint sales_order_offer_id_foreign references offer (id)
          on delete restrict
      )`);
    this.addSql('create index sales_order_app_idx on sales_order (app_id, id)');
    this.addSql('create index sales_order_slot_idx on sales_order (slot_id, id)');
    this.addSql('create index sales_order_offer_idx on sales_order (offer_id, id)');
    this.addSql('create index sales_order_created_idx on sales_order (created_at, id)');
    this.addSql(`
      create index sales_order_customer_idx on sales_order (customer_id, id) where customer_id is not null`);
    this.addSql(`create index sales_order_blocked_idx on sales_order (id) where state = 'blocked'`);
    this.addSql(`
      create table order_license (
        order_id uuid not null
          constraint order_license_order_id_foreign references sales_order (id) on update cascade
            on delete restrict,
        license_id uuid not null
          constraint order_license_license_id_foreign references license (id) on update cascade
            on delete restrict,
        issued boolean not null,
        expires_before timestamptz(3),
        expires_after timestamptz(3),
        seats_added int not null default 0,
        taken_back text constraint order_license_taken_back_check
          check (taken_back in ('suspended', 'revoked', 'undone', 'kept')),
        seats_taken int not null default 0,
        time_taken_ms bigint not null default 0,
        primary key (order_id, license_id)
      )`);
    this.addSql('create index order_license_license_idx on order_license (license_id, order_id)');
  }
}
