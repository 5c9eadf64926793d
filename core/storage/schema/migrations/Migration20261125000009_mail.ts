// The tables of the mail module: mails about orders, and their templates.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000009_mail extends Migration {
  /** New tables that older hubs do not touch. */
  static readonly isCompatible = true;

  override up(): void {
    this.addSql(`
      create table mail (
        id uuid primary key,
        order_id uuid not null constraint mail_order_id_key unique
          constraint mail_order_id_foreign references sales_order (id) on delete restrict,
        app_id uuid not null constraint mail_app_id_foreign references app (id) on delete restrict,
        kind text not null constraint mail_kind_check check (kind in ('license', 'renewal', 'seats')),
        language text not null,
        state text not null constraint mail_state_check check (state in ('queued', 'sent', 'failed')),
        attempts int not null default 0,
        next_attempt_at timestamptz(3),
        last_attempt_at timestamptz(3),
        problem text not null default '',
        smtp_response text not null default '',
        message_id text not null,
        created_at timestamptz(3) not null,
        sent_at timestamptz(3)
      )`);
    this.addSql('create index mail_app_idx on mail (app_id, id)');
    this.addSql(`create index mail_due_idx on mail (next_attempt_at) where state = 'queued'`);
    this.addSql(`create index mail_queued_idx on mail (id) where state = 'queued'`);
    this.addSql(`create index mail_failed_idx on mail (last_attempt_at) where state = 'failed'`);
    this.addSql(`create index mail_failed_id_idx on mail (id) where state = 'failed'`);
    this.addSql(`
      create table mail_template (
        app_id uuid not null constraint mail_template_app_id_foreign references app (id) on delete restrict,
        kind text not null constraint mail_template_kind_check
          check (kind in ('license', 'renewal', 'seats')),
        language text not null,
        subject text not null,
        text text not null,
        html text not null,
        updated_at timestamptz(3) not null,
        primary key (app_id, kind, language)
      )`);
  }
}
