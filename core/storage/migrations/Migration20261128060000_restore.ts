// Partitions are made on PostgreSQL 15 and 16 as well by an owner that is no superuser.
import { Migration } from '@mikro-orm/migrations';
import { MAKE_MONTH_PARTITIONS } from '../make-month-partitions.ts';

export class Migration20261128060000_restore extends Migration {
  override up(): void {
    this.addSql(MAKE_MONTH_PARTITIONS);
    // CREATE OR REPLACE drops these properties.
    this.addSql(`
      do $$ begin
        execute format('alter function make_month_partitions(text, date[]) security definer set search_path to %I, pg_temp',
          current_schema());
      end $$`);
  }
}
