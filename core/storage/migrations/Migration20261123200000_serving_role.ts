// A role that does not own the schema can serve: what takes an owner (partitions, pruning) is done by functions of his.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123200000_serving_role extends Migration {
  override up(): void {
    this.addSql(MONTHS_DROP);
    for (const name of ['make_month_partitions(text, date[])', 'months_astray(text)', 'months_drop(date)']) {
      // With the temporary schema last: whoever calls must not put tables of his own before those of the hub.
      this.addSql(`
        do $$ begin
          execute format('alter function ${name} security definer set search_path to %I, pg_temp', current_schema());
        end $$`);
      this.addSql(`revoke execute on function ${name} from public`);
    }
    this.addSql(`
      do $$ begin
        execute format('alter function audit_note_unlinked() set search_path to %I, pg_temp', current_schema());
      end $$`);
  }
}

/**
 * Drops the partitions of the months before this one, whose names it returns. Only months that are over, and only where the
 * chain of the audit log has an anchor for what goes: a hub alone, which has the key, can leave one that verifies.
 */
const MONTHS_DROP = `
  create function months_drop(before date) returns text[] language plpgsql as $$
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
    where right(c.relname, 7) < to_char(before, 'YYYY_MM') collate "C";
    foreach part in array names loop
      execute format('drop table %I', part);
    end loop;
    return names;
  end $$`;
