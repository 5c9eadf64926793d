// The tables of the storage module: locks between hubs and the master keys in use.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000000_storage extends Migration {
  override up(): void {
    // Older hubs read here whether they can serve on a schema with migrations they do not know.
    this.addSql('alter table hub_migration add column is_compatible boolean not null default false');

    // One row for each lock, see hub-lock.ts. Locking a row requires the privilege to update it.
    this.addSql('create table hub_lock (name text primary key)');
    this.addSql(`insert into hub_lock values
      ('audit_chain'), ('event_counter'), ('job_queue'), ('job_stats'), ('job_tables'), ('license_import'),
      ('partitions'), ('schema')`);
    this.addSql('revoke all on hub_lock from public');

    this.addSql('create table master_key_use (key_id text primary key, since timestamptz(3) not null)');
  }
}
