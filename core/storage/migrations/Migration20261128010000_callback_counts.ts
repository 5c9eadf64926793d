// A session keeps so many callbacks in full; those beyond are only counted.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261128010000_callback_counts extends Migration {
  override up(): void {
    // Sessions from before have no row, and begin with the next callback: what they have journaled is not counted in.
    // A row changes often and in no index, so the table leaves room for new versions of it.
    this.addSql(`
      create table callback_count (
        session_id uuid not null,
        kept int not null,
        ignored bigint not null,
        mismatch bigint not null,
        asked_for_at timestamptz(3) null,
        other_checkouts text[] not null default '{}',
        primary key (session_id),
        constraint callback_count_session_id_foreign foreign key (session_id) references charge_session (id) on update cascade on delete restrict
      ) with (fillfactor = 70)`);
  }
}
