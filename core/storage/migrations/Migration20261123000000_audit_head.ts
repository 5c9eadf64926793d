// The head of the audit chain is noted beside it, with a MAC: newest rows that were removed are missed.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261123000000_audit_head extends Migration {
  override up(): void {
    // One row, with id 1. The first hub that starts notes the head of a chain that is there already.
    this.addSql(`
      create table audit_head (
        id smallint primary key,
        seq bigint not null,
        hash bytea not null,
        mac bytea not null
      )`);
  }
}
