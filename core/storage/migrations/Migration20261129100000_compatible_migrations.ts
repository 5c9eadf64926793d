// Says of each migration whether hubs that do not know it may go on: they read it here, and nowhere else.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261129100000_compatible_migrations extends Migration {
  /** Hubs before this one look at no mark. */
  static readonly isCompatible = true;

  override up(): void {
    this.addSql('alter table hub_migration add column is_compatible boolean not null default false');
  }
}
