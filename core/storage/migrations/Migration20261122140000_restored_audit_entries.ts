// Audit entries that are restored, or moved to their partition, are not queued for a link again: in databases too whose
// trigger was made before there were backups.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122140000_restored_audit_entries extends Migration {
  override up(): void {
    this.addSql(`
      create or replace function audit_note_unlinked() returns trigger language plpgsql
      set search_path from current as $$
      begin
        if current_setting('hub.restoring', true) = 'on' then return null; end if;
        insert into audit_unlinked values (new.id) on conflict do nothing;
        return null;
      end $$`);
  }
}
