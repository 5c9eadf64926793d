// The audit log says what was before and after, cannot be changed, and is chained.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122000000_audit_chain extends Migration {
  override up(): void {
    this.addSql('alter table audit_entry add column before jsonb, add column after jsonb');
    this.addSql('create index audit_entry_actor_idx on audit_entry (actor, id)');
    this.addSql('create index audit_entry_action_idx on audit_entry (action, id)');
    this.addSql('create index audit_entry_at_idx on audit_entry (at)');
    this.addSql(`
      create table audit_key (
        id uuid primary key,
        sealed_key bytea not null,
        created_at timestamptz(3) not null
      )`);
    this.addSql(`
      create table audit_link (
        seq bigint primary key,
        entry_id uuid not null constraint audit_link_entry_id_key unique,
        linked_at timestamptz(3) not null,
        hash bytea not null
      )`);
    // What is still to be linked. By a trigger, so that no way of writing an entry can forget it.
    this.addSql('create table audit_unlinked (entry_id uuid primary key)');
    this.addSql('insert into audit_unlinked select id from audit_entry');
    this.addSql(`
      create function audit_note_unlinked() returns trigger language plpgsql set search_path from current as $$
      begin
        -- What is restored, or moved to its partition, is noted or linked already.
        if current_setting('hub.restoring', true) = 'on' then return null; end if;
        insert into audit_unlinked values (new.id) on conflict do nothing;
        return null;
      end $$`);
    this.addSql(`
      create trigger audit_entry_unlinked after insert on audit_entry
      for each row execute function audit_note_unlinked()`);
    this.addSql(`
      create function audit_refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception 'the audit log is append-only: % on % is refused', tg_op, tg_table_name
          using errcode = 'insufficient_privilege';
      end $$`);
    for (const table of ['audit_entry', 'audit_link']) {
      this.addSql(`
        create trigger ${table}_append_only before update or delete on ${table}
        for each row execute function audit_refuse_change()`);
      this.addSql(`
        create trigger ${table}_no_truncate before truncate on ${table}
        for each statement execute function audit_refuse_change()`);
      // Superusers have every privilege, and replication skips ordinary triggers: these hold for them too.
      this.addSql(`alter table ${table} enable always trigger ${table}_append_only`);
      this.addSql(`alter table ${table} enable always trigger ${table}_no_truncate`);
      this.addSql(`revoke update, delete, truncate on ${table} from current_user`);
    }
  }
}
