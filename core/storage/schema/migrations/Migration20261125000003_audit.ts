// The tables of the audit module: an append-only log of entries, and the chain that proves it is complete.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000003_audit extends Migration {
  override up(): void {
    this.addSql(REFUSE_CHANGE);
    this.addSql(MAKE_APPEND_ONLY);
    this.addEntries();
    this.addChain();
    for (const table of ['audit_entry', 'audit_link', 'audit_anchor']) {
      this.addSql(`
        create trigger ${table}_append_only before update or delete on ${table}
        for each row execute function audit_refuse_change()`);
      // Enabled always: the trigger holds for superusers and replication too.
      this.addSql(`alter table ${table} enable always trigger ${table}_append_only`);
      this.addSql(`select audit_make_append_only('${table}')`);
      this.addSql(`
        select audit_make_append_only(inhrelid::regclass::text) from pg_inherits
        where inhparent = '${table}'::regclass`);
    }
  }

  private addEntries(): void {
    this.addSql(`
      create table audit_entry (
        id uuid primary key,
        at timestamptz(3) not null,
        actor text not null,
        action text not null,
        subject text not null,
        detail jsonb not null,
        request_id text,
        before jsonb,
        after jsonb,
        actor_kind text
          constraint audit_entry_actor_kind_check
            check (actor_kind in ('token', 'certificate', 'hub', 'local')),
        actor_token_id uuid,
        actor_certificate text
      ) partition by range (id)`);
    this.addSql('create table audit_entry_default partition of audit_entry default');
    this.addSql('create index audit_entry_subject_idx on audit_entry (subject, id)');
    this.addSql('create index audit_entry_actor_idx on audit_entry (actor, id)');
    this.addSql('create index audit_entry_action_idx on audit_entry (action, id)');
    this.addSql('create index audit_entry_at_idx on audit_entry (at, id)');
    this.addSql(`
      create index audit_entry_actor_token_idx on audit_entry (actor_token_id, id)
        where actor_token_id is not null`);
    // Most entries are the hub's own. A search for those reads the log backwards and needs no index.
    this.addSql(`
      create index audit_entry_actor_kind_idx on audit_entry (actor_kind, id) where actor_kind <> 'hub'`);
  }

  private addChain(): void {
    this.addSql(`
      create table audit_key (
        id uuid primary key,
        sealed_key bytea not null,
        created_at timestamptz(3) not null
      )`);
    this.addSql(`
      create table audit_link (
        seq bigint not null,
        entry_id uuid primary key,
        linked_at timestamptz(3) not null,
        hash bytea not null
      ) partition by range (entry_id)`);
    this.addSql('create table audit_link_default partition of audit_link default');
    this.addSql('create index audit_link_seq_idx on audit_link (seq)');
    // What remains of pruned months.
    this.addSql(`
      create table audit_anchor (
        seq bigint primary key,
        first_seq bigint not null,
        hash bytea not null,
        pruned_at timestamptz(3) not null,
        mac bytea not null
      )`);
    // One row, with id 1: the head of the chain with its MAC, so that removing the newest rows is detected.
    this.addSql(`
      create table audit_head (
        id smallint primary key,
        seq bigint not null,
        hash bytea not null,
        mac bytea not null,
        key_id uuid not null
      )`);
    // Entries without a link. A trigger fills it, whichever way an entry is written.
    this.addSql('create table audit_unlinked (entry_id uuid primary key)');
    this.addSql(NOTE_UNLINKED);
    this.addSql(`
      do $$ begin
        execute format('alter function audit_note_unlinked() set search_path to %I, pg_temp',
          current_schema());
      end $$`);
    this.addSql(`
      create trigger audit_entry_unlinked after insert on audit_entry
      for each row execute function audit_note_unlinked()`);
  }
}

const REFUSE_CHANGE = `
  create function audit_refuse_change() returns trigger language plpgsql as $$
  begin
    raise exception 'the audit log is append-only: % on % is refused', tg_op, tg_table_name
      using errcode = 'insufficient_privilege';
  end $$`;

/** What a partition does not inherit: the trigger on TRUNCATE, and the privileges. */
const MAKE_APPEND_ONLY = `
  create function audit_make_append_only(part text) returns void language plpgsql as $$
  declare
    name text := part || '_no_truncate';
  begin
    execute format(
      'create trigger %I before truncate on %I for each statement execute function audit_refuse_change()',
      name, part);
    execute format('alter table %I enable always trigger %I', part, name);
    execute format('revoke update, delete, truncate on %I from current_user', part);
  end $$`;

/**
 * An entry that is restored, or moved to its partition, has its link or its row in audit_unlinked already.
 */
const NOTE_UNLINKED = `
  create function audit_note_unlinked() returns trigger language plpgsql as $$
  begin
    if current_setting('hub.restoring', true) = 'on' then return null; end if;
    insert into audit_unlinked values (new.id) on conflict do nothing;
    return null;
  end $$`;
