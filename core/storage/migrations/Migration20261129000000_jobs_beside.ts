// The tables of the job queue stand beside those of the hub: pruning leaves their partitions alone.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261129000000_jobs_beside extends Migration {
  override up(): void {
    this.addSql(MONTHS_DROP);
    // CREATE OR REPLACE drops these properties.
    this.addSql(`
      do $$ begin
        execute format('alter function months_drop(date) security definer set search_path to %I, pg_temp', current_schema());
      end $$`);
  }
}

/** As before, but for tables by month only: they have a default partition. */
const MONTHS_DROP = `
  create or replace function months_drop(before date) returns text[] language plpgsql as $$
  declare
    names text[];
    part text;
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
    where t.partstrat = 'r' and t.partdefid <> 0 and right(c.relname, 7) < to_char(before, 'YYYY_MM') collate "C";
    foreach part in array names loop
      execute format('drop table %I', part);
    end loop;
    return names;
  end $$`;
