// How often callbacks have made the hub ask about a session, and until when they may not.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121200000_question_budget extends Migration {
  override up(): void {
    this.addSql('alter table charge_session add column callback_questions int not null default 0');
    this.addSql('alter table charge_session add column question_after timestamptz(3)');
  }
}
