// A license knows how many of its seats are taken, so that nobody has to count them to answer a request.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261127000000_seats_used extends Migration {
  override up(): void {
    // Whoever changes seats locks the license first: in the same order, nobody waits in a circle with this.
    this.addSql('lock table license in access exclusive mode');
    this.addSql('lock table seat in share row exclusive mode');
    // A change of the number changes no index, as long as there is room beside the row.
    this.addSql('alter table license set (fillfactor = 90)');
    this.addSql(`
      alter table license add column seats_used int not null default 0
        constraint license_seats_used_range check (seats_used >= 0)`);
    this.addSql(`
      update license l set seats_used = taken.count
      from (select license_id, count(*) as count from seat where released_at is null group by license_id) taken
      where l.id = taken.license_id`);
    this.addSql(COUNT_SEATS);
    this.addSql(`
      create trigger seat_counted_added after insert on seat referencing new table as added
      for each statement execute function seat_count()`);
    this.addSql(`
      create trigger seat_counted_changed after update on seat for each row
      when ((old.license_id, old.released_at is null) is distinct from (new.license_id, new.released_at is null))
      execute function seat_count()`);
    this.addSql(`
      create trigger seat_counted_deleted after delete on seat for each row when (old.released_at is null)
      execute function seat_count()`);
    this.addSql(`
      create trigger seat_counted_truncated after truncate on seat for each statement
      execute function seat_count()`);
  }
}

/**
 * By triggers, so that no way of changing a seat can forget it: neither a hub from before, which may still serve beside a
 * new one, nor somebody with psql. Many are added at once, and counted once for each license; released they are one by one.
 */
const COUNT_SEATS = `
  create function seat_count() returns trigger language plpgsql set search_path from current as $$
  declare
    overfull uuid;
  begin
    -- What is restored is counted already.
    if current_setting('hub.restoring', true) = 'on' then return null; end if;
    if tg_op = 'INSERT' then
      with counted as (
        update license l set seats_used = l.seats_used + taken.count
        from (select license_id, count(*) as count from added where released_at is null group by license_id) taken
        where l.id = taken.license_id
        returning l.id, l.seat_limit <> -1 and l.seats_used > l.seat_limit as overfull
      )
      select c.id into overfull from counted c where c.overfull limit 1;
      if overfull is not null then
        raise exception 'license % has no seat left', overfull using errcode = 'check_violation';
      end if;
    elsif tg_op = 'TRUNCATE' then
      update license set seats_used = 0 where seats_used <> 0;
    else
      if old.released_at is null then
        update license set seats_used = seats_used - 1 where id = old.license_id;
      end if;
      if tg_op = 'UPDATE' and new.released_at is null then
        update license set seats_used = seats_used + 1 where id = new.license_id;
      end if;
    end if;
    return null;
  end $$`;
