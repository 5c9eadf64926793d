// The audit log names the kind of an actor, its token and its certificate. Locks are rows that only the hub's roles can
// lock, where they were advisory locks, which everybody who may connect can hold.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261128050000_audit_actor_and_lock extends Migration {
  override up(): void {
    // Entries from before stay without: the log is append-only.
    this.addSql(`
      alter table audit_entry
        add column actor_kind text,
        add column actor_token_id uuid,
        add column actor_certificate text,
        add constraint audit_entry_actor_kind_check
          check (actor_kind in ('token', 'certificate', 'hub', 'local'))`);
    this.addSql(`
      create index audit_entry_actor_token_idx on audit_entry (actor_token_id, id)
        where actor_token_id is not null`);
    // Without the entries of the hub itself, which are most of them: these are found from the newest backwards.
    this.addSql(`
      create index audit_entry_actor_kind_idx on audit_entry (actor_kind, id) where actor_kind <> 'hub'`);

    // A row for each lock: core/storage/hub-lock.ts. To lock one takes the right to update it.
    this.addSql('create table hub_lock (name text primary key)');
    this.addSql(`insert into hub_lock values
      ('audit_chain'), ('job_queue'), ('job_stats'), ('job_tables'), ('partitions'), ('schema')`);
    this.addSql('revoke all on hub_lock from public');

    // The key that made the note. A hub from before this migration cannot note a head without it, so it makes no links
    // under the advisory lock while newer hubs make theirs under the row lock.
    this.addSql('alter table audit_head add column key_id uuid');
    this.addSql(`
      update audit_head
      set key_id = coalesce((select id from audit_key limit 1), '00000000-0000-0000-0000-000000000000')`);
    this.addSql('alter table audit_head alter column key_id set not null');
  }
}
