// The tables of the event module: the outbox, events, the endpoints that they are delivered to, and their
// deliveries.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000007_event extends Migration {
  override up(): void {
    this.addOutbox();
    this.addEvents();
    this.addEndpoints();
    this.addDeliveries();
  }

  /** Events without a number. One row has the events of one type that a transaction records together. */
  private addOutbox(): void {
    this.addSql(`
      create table event_outbox (
        position bigserial primary key,
        type text not null,
        object_ids uuid[] not null,
        app_ids uuid[] not null,
        slot_ids uuid[] not null,
        at timestamptz(3) not null
      )`);
    this.addSql(`
      create table event_counter (
        name text primary key,
        last_number bigint not null
      )`);
    this.addSql(`
      create table license_expiry_mark (
        type text primary key,
        announced_until timestamptz(3) not null
      )`);
  }

  private addEvents(): void {
    this.addSql(`
      create table event (
        id uuid primary key,
        number bigint not null,
        type text not null,
        object_id uuid not null,
        app_id uuid,
        slot_id uuid,
        at timestamptz(3) not null
      ) partition by range (id)`);
    this.addSql('create table event_default partition of event default');
    this.addSql('create index event_number_idx on event (number)');
    this.addSql('create index event_object_idx on event (object_id, id)');
    this.addSql(`
      create table event_data (
        event_id uuid primary key,
        data jsonb not null,
        customer_id uuid
      ) partition by range (event_id)`);
    this.addSql('create table event_data_default partition of event_data default');
    this.addSql(`
      create index event_data_customer_idx on event_data (customer_id) where customer_id is not null`);
  }

  private addEndpoints(): void {
    this.addSql(`
      create table event_endpoint (
        id uuid primary key,
        url text not null,
        event_types text[] not null,
        app_ids uuid[] not null default '{}',
        slot_ids uuid[] not null default '{}',
        include_keys boolean not null default false,
        description text not null default '',
        sealed_secret bytea,
        sealed_previous_secret bytea,
        previous_secret_until timestamptz(3),
        created_at timestamptz(3) not null,
        disabled_at timestamptz(3),
        disabled_reason text,
        failing_since timestamptz(3),
        removed_at timestamptz(3)
      )`);
  }

  private addDeliveries(): void {
    this.addSql(`
      create table event_delivery (
        event_id uuid not null,
        endpoint_id uuid not null
          constraint event_delivery_endpoint_id_foreign references event_endpoint (id) on delete restrict,
        state text not null
          constraint event_delivery_state_check check (state in ('pending', 'delivered', 'failed')),
        attempts int not null default 0,
        next_attempt_at timestamptz(3),
        last_attempt_at timestamptz(3),
        response_status int,
        response_body text,
        problem text,
        duration_ms int,
        primary key (event_id, endpoint_id)
      ) partition by range (event_id)`);
    this.addSql('create table event_delivery_default partition of event_delivery default');
    this.addSql('create index event_delivery_endpoint_idx on event_delivery (endpoint_id, event_id)');
    this.addSql(`
      create index event_delivery_due_idx on event_delivery (endpoint_id, next_attempt_at)
        where state = 'pending'`);
    this.addSql(`
      create index event_delivery_failed_idx on event_delivery (endpoint_id, event_id)
        where state = 'failed'`);
  }
}
