// Journal, usage log and audit log are partitioned by month, so that pruning a month is dropping tables.
//
// Ids are UUIDv7 and begin with their time: a month is a range of ids, and what is unique by id stays so over all
// partitions. A usage log takes the id of its session, which makes it unique by session.
import { Migration } from '@mikro-orm/migrations';
import { MAKE_MONTH_PARTITIONS } from '../make-month-partitions.ts';

export class Migration20261122130000_partitions extends Migration {
  override up(): void {
    this.addSql(`
      create function partition_floor(month date) returns uuid language sql immutable as $$
        select (lpad(to_hex((extract(epoch from month::timestamp) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
      $$`);
    this.addSql(MAKE_MONTH_PARTITIONS);
    this.addSql(MONTHS_ASTRAY);

    this.addSql('alter table verification drop constraint verification_callback_id_foreign');
    this.addSql('alter table fee_line drop constraint fee_line_usage_log_id_foreign');
    this.addSql('alter table fee_line rename to fee_line_by_log');
    this.addSql(`
      create table fee_line as select u.session_id as usage_log_id, f.fee_rule_id, f.rule, f.rule_version, f.amount_minor
      from fee_line_by_log f join usage_log u on u.id = f.usage_log_id`);
    this.addSql('drop table fee_line_by_log');
    for (const column of ['usage_log_id', 'fee_rule_id', 'rule', 'rule_version', 'amount_minor']) {
      this.addSql(`alter table fee_line alter column ${column} set not null`);
    }
    this.addSql('alter table usage_log drop column id');
    this.addSql('alter table usage_log rename column session_id to id');

    this.partition('callback', 'id');
    this.addSql('alter table callback add primary key (id)');
    this.addSql(`
      alter table callback add constraint callback_session_id_foreign
        foreign key (session_id) references charge_session (id) on delete restrict`);
    this.addSql('create index callback_session_idx on callback (session_id, id)');
    this.addSql('create index callback_state_idx on callback (state, id)');
    this.addSql(
      `create index callback_waiting_idx on callback (session_id) where state = 'received' and session_id is not null`,
    );

    this.partition('verification', 'id');
    this.addSql('alter table verification add primary key (id)');
    this.addSql(`
      alter table verification add constraint verification_session_id_foreign
        foreign key (session_id) references charge_session (id) on delete restrict`);
    this.addSql('create index verification_session_idx on verification (session_id, id)');
    this.addSql('create index verification_callback_idx on verification (callback_id)');

    this.partition('usage_log', 'id');
    this.addSql('alter table usage_log add primary key (id)');
    this.addSql(`
      alter table usage_log add constraint usage_log_slot_id_foreign
        foreign key (slot_id) references slot (id) on delete restrict`);
    this.addSql('create index usage_log_settled_idx on usage_log (settled_at)');
    this.addSql('create index usage_log_slot_idx on usage_log (slot_id, id)');

    this.partition('fee_line', 'usage_log_id');
    this.addSql('alter table fee_line add primary key (usage_log_id, rule)');
    this.addSql(`
      alter table fee_line add constraint fee_line_fee_rule_id_foreign
        foreign key (fee_rule_id) references fee_rule (id) on delete restrict`);
    this.addSql('create index fee_line_fee_rule_idx on fee_line (fee_rule_id)');

    this.partition('audit_entry', 'id');
    this.addSql('alter table audit_entry add primary key (id)');
    this.addSql('create index audit_entry_subject_idx on audit_entry (subject, id)');
    this.addSql('create index audit_entry_actor_idx on audit_entry (actor, id)');
    this.addSql('create index audit_entry_action_idx on audit_entry (action, id)');
    this.addSql('create index audit_entry_at_idx on audit_entry (at)');
    this.addSql(`
      create trigger audit_entry_unlinked after insert on audit_entry
      for each row execute function audit_note_unlinked()`);

    this.partition('audit_link', 'entry_id');
    this.addSql('alter table audit_link add primary key (entry_id)');
    this.addSql('create index audit_link_seq_idx on audit_link (seq)');

    this.addSql(`
      create table audit_anchor (
        seq bigint primary key,
        first_seq bigint not null,
        hash bytea not null,
        pruned_at timestamptz(3) not null,
        mac bytea not null
      )`);
    this.addSql(MAKE_APPEND_ONLY);
    for (const table of ['audit_entry', 'audit_link', 'audit_anchor']) {
      this.addSql(`
        create trigger ${table}_append_only before update or delete on ${table}
        for each row execute function audit_refuse_change()`);
      this.addSql(`alter table ${table} enable always trigger ${table}_append_only`);
      this.addSql(`select audit_make_append_only('${table}')`);
      this.addSql(`
        select audit_make_append_only(inhrelid::regclass::text) from pg_inherits where inhparent = '${table}'::regclass`);
    }
  }

  /** Keys and indexes are made afterwards: those of the old table have their names until it is dropped. */
  private partition(table: string, key: string): void {
    this.addSql(`alter table ${table} rename to ${table}_old`);
    this.addSql(
      `create table ${table} (like ${table}_old including constraints) partition by range (${key})`,
    );
    this.addSql(`create table ${table}_default partition of ${table} default`);
    this.addSql(`insert into ${table} select * from ${table}_old`);
    this.addSql(`drop table ${table}_old`);
    this.addSql(`select make_month_partitions('${table}', months_astray('${table}'))`);
  }
}

/**
 * The months that rows of the default partition belong to. A UUIDv7 begins with its time in milliseconds; what says that
 * it is older than the hub, or of a time to come, stays where it is.
 */
const MONTHS_ASTRAY = `
  create function months_astray(parent text) returns date[] language plpgsql as $$
  declare
    key text;
    months date[];
  begin
    select a.attname into key
    from pg_partitioned_table p join pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
    where p.partrelid = parent::regclass;
    execute format($q$
      select coalesce(array_agg(distinct month order by month), '{}') from (
        select date_trunc('month', to_timestamp(
          ('x' || lpad(left(replace(%I::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0
        ) at time zone 'UTC')::date as month from %I
      ) rows where month between '2020-01-01' and now() + interval '1 month' $q$, key, parent || '_default')
      into months;
    return months;
  end $$`;

/** What a partition does not inherit: the trigger on TRUNCATE, and the privileges. */
const MAKE_APPEND_ONLY = `
  create function audit_make_append_only(part text) returns void language plpgsql as $$
  declare
    name text := part || '_no_truncate';
  begin
    execute format(
      'create trigger %I before truncate on %I for each statement execute function audit_refuse_change()', name, part);
    execute format('alter table %I enable always trigger %I', part, name);
    execute format('revoke update, delete, truncate on %I from current_user', part);
  end $$`;
