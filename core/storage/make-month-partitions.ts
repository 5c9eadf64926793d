// The database function that makes partitions. The migration that brings partitions creates it. A later one replaces its
// first version, which an owner that is no superuser could not run on PostgreSQL 15 and 16.

/**
 * Makes the partitions of months, such as `callback_2026_01`, and moves what is in the default partition but belongs
 * there; returns how many it made. Readers and writers wait meanwhile: PostgreSQL would refuse (23514) a row that was on
 * its way to the default partition. If the table refers to others, the function locks those first, as writers do.
 *
 * It locks the table by ALTER TABLE, which only asks for ownership. Before PostgreSQL 17, LOCK TABLE takes UPDATE, DELETE
 * or TRUNCATE, and the owner of the audit log has revoked these from itself.
 */
export const MAKE_MONTH_PARTITIONS = `
  create or replace function make_month_partitions(parent text, months date[]) returns int language plpgsql as $$
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
      select distinct confrelid::regclass from pg_constraint where conrelid = parent::regclass and contype = 'f'
    loop
      execute format('lock table %s in share row exclusive mode', referenced);
    end loop;
    -- The strongest lock first: a transaction that has read the table and then writes to it would wait for a weaker one
    -- and block the stronger. ALTER TABLE changes nothing here.
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
