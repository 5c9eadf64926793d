// What has paid a session, unique for each gateway: the bank's id of a payment as well as the provider's.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261122110000_payment_proof extends Migration {
  override up(): void {
    this.addSql(`
      create table payment_proof (
        gateway text not null,
        kind text not null,
        value text not null,
        session_id uuid not null,
        primary key (gateway, kind, value),
        constraint payment_proof_kind_check check (kind in ('payment', 'bank')),
        constraint payment_proof_session_id_foreign foreign key (session_id) references charge_session (id) on delete restrict
      )`);
    this.addSql(`
      insert into payment_proof (gateway, kind, value, session_id)
      select gateway, 'payment', gateway_transaction_id, session_id from usage_log`);
  }
}
