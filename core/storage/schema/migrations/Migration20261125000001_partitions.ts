// The functions that create and drop the monthly partitions of the journal, the usage log and the audit log.
//
// The tables are partitioned by id. Ids are UUIDv7, which begin with their time, so a month is a range of ids
// and an id stays unique over all partitions. Pruning a month drops its partitions.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000001_partitions extends Migration {
  /** Creates functions and changes no table. */
  static readonly isCompatible = true;

  override up(): void {
    this.addSql(PARTITION_FLOOR);
    this.addSql(MAKE_MONTH_PARTITIONS);
    this.addSql(MONTHS_ASTRAY);
    this.addSql(MONTHS_DROP);
    // They run as the owner of the schema, so that a hub can serve with a role that does not own it. The
    // temporary schema comes last in the search path: a caller must not shadow the tables of the hub with its
    // own.
    for (const name of ['make_month_partitions(text, date[])', 'months_astray(text)', 'months_drop(date)']) {
      this.addSql(`
        do $$ begin
          execute format('alter function ${name} security definer set search_path to %I, pg_temp',
            current_schema());
        end $$`);
      this.addSql(`revoke execute on function ${name} from public`);
    }
  }
}

/** The smallest UUIDv7 of a month. */
const PARTITION_FLOOR = `
  create or replace function partition_floor(month date) returns uuid language sql immutable as $$
    select (lpad(to_hex((extract(epoch from month::timestamp) * 1000)::bigint), 12, '0')
            || repeat('0', 20))::uuid
  $$`;

/**
 * Creates the partitions of months, such as `callback_2026_01`, moves the rows of the default partition that
 * belong to them, and returns how many it created. It blocks readers and writers: PostgreSQL would otherwise
 * refuse (23514) a row that is on its way to the default partition. It locks referenced tables first, in the
 * order of writers.
 *
 * It locks the table by ALTER TABLE, which only requires ownership. Before PostgreSQL 17, LOCK TABLE requires
 * UPDATE, DELETE or TRUNCATE, which the owner of the audit log has revoked from itself.
 */
const MAKE_MONTH_PARTITIONS = `
  create or replace function make_month_partitions(parent text, months date[]) returns int
  language plpgsql as $$
  declare
    rest text := parent || '_default';
    astray boolean;
    month date;
    part text;
    referenced regclass;
    made int := 0;
    append_only boolean := exists (
      select from pg_trigger where tgrelid = parent::regclass and tgname = parent || '_no_truncate');
  begin
    for referenced in
      select distinct confrelid::regclass from pg_constraint
      where conrelid = parent::regclass and contype = 'f'
    loop
      execute format('lock table %s in share row exclusive mode', referenced);
    end loop;
    -- The strongest lock first: a transaction that reads the table and then writes to it would wait for a
    -- weaker lock and block the stronger one. This ALTER TABLE changes nothing.
    execute format('alter table %I owner to %I', parent,
      (select pg_get_userbyid(relowner) from pg_class where oid = parent::regclass));
    execute format('select exists (select from %I)', rest) into astray;
    if astray then
      execute format('alter table %I detach partition %I', parent, rest);
      execute format('alter table %I rename to %I', rest, parent || '_astray');
    end if;
    foreach month in array months loop
      part := parent || to_char(month, '_YYYY_MM');
      continue when to_regclass(part) is not null;
      execute format('create table %I (like %I including all)', part, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, partition_floor(month), partition_floor((month + interval '1 month')::date));
      if append_only then perform audit_make_append_only(part); end if;
      made := made + 1;
    end loop;
    if astray then
      execute format('create table %I (like %I including all)', rest, parent);
      execute format('alter table %I attach partition %I default', parent, rest);
      perform set_config('hub.restoring', 'on', true);
      execute format('insert into %I select * from %I', parent, parent || '_astray');
      perform set_config('hub.restoring', 'off', true);
      execute format('drop table %I', parent || '_astray');
      if append_only then perform audit_make_append_only(rest); end if;
    end if;
    return made;
  end $$`;

/**
 * The months that rows of the default partition belong to, by the time in their UUIDv7. Rows before 2020 or
 * more than a month ahead stay in the default partition.
 */
const MONTHS_ASTRAY = `
  create or replace function months_astray(parent text) returns date[] language plpgsql as $$
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

/**
 * Drops the partitions of all months before a date and returns their names. It drops only past months, and
 * only if the audit chain has an anchor for them: without the key of the chain nobody can prune the log so
 * that it still verifies. The tables of the job queue have no default partition and are left alone.
 *
 * Rows that `months_kept` names stay in their partition, and all others leave it. A partition that only has
 * rows that stay is not returned.
 */
const MONTHS_DROP = `
  create or replace function months_drop(before date) returns text[] language plpgsql as $$
  declare
    names text[];
    part text;
    parent text;
    key text;
    month date;
    kept uuid[];
    has_kept boolean;
    has_others boolean;
    dropped text[] := '{}';
  begin
    if before > now() at time zone 'UTC' then
      raise exception 'only months that are over can be dropped' using errcode = 'invalid_parameter_value';
    end if;
    if exists (
      select from audit_link l where l.entry_id < partition_floor(before)
      and not exists (select from audit_anchor a where l.seq between a.first_seq and a.seq)
    ) then
      raise exception 'the audit chain has no anchor for these months' using errcode = 'object_in_use';
    end if;
    select coalesce(array_agg(c.relname::text order by c.relname), '{}') into names
    from pg_partitioned_table t
    join pg_class p on p.oid = t.partrelid and p.relnamespace = quote_ident(current_schema())::regnamespace
    join pg_inherits i on i.inhparent = p.oid
    join pg_class c on c.oid = i.inhrelid and c.oid <> t.partdefid
    where t.partstrat = 'r' and t.partdefid <> 0
      and right(c.relname, 7) < to_char(before, 'YYYY_MM') collate "C";
    if names = '{}' then return names; end if;
    -- A settlement writes to these tables in this order. It must not add a row after the rows that stay were
    -- looked up.
    lock table only usage_log, only fee_line in access exclusive mode;
    foreach part in array names loop
      parent := left(part, -8);
      month := to_date(right(part, 7), 'YYYY_MM');
      kept := array(select months_kept(parent, month, before));
      has_kept := false;
      if kept <> '{}' then
        select a.attname into key
        from pg_partitioned_table p
        join pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
        where p.partrelid = parent::regclass;
        execute format('select exists (select from %I where %I = any($1))', part, key)
          into has_kept using kept;
      end if;
      if not has_kept then
        execute format('drop table %I', part);
      else
        execute format('select exists (select from %I where %I <> all($1))', part, key)
          into has_others using kept;
        continue when not has_others;
        execute format('create table months_kept_rows (like %I)', part);
        execute format('insert into months_kept_rows select * from %I where %I = any($1)', part, key)
          using kept;
        execute format('truncate %I', part);
        execute format('insert into %I select * from months_kept_rows', part);
        drop table months_kept_rows;
      end if;
      dropped := dropped || part;
    end loop;
    return dropped;
  end $$`;
