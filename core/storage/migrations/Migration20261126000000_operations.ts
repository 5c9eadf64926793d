// What watching the hub takes: a role that reads metrics alone, and an index of the sessions that are not paid yet.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261126000000_operations extends Migration {
  override up(): void {
    this.addSql('alter table service_token drop constraint service_token_role_check');
    this.addSql(`
      alter table service_token add constraint service_token_role_check
        check (role in ('admin', 'operator', 'service', 'viewer', 'monitor'))`);
    // A session is in it until it is settled, which writes nothing to it: only creating a session does.
    this.addSql(`
      create index charge_session_pending_idx on charge_session (created_at) where status = 'pending'`);
  }
}
