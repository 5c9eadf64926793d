// Service tokens get a scope, a time of last use, and certificates that take their place.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261121130000_service_tokens extends Migration {
  override up(): void {
    this.addSql(`
      alter table service_token
        add column certificate_subject text,
        add column scope jsonb,
        add column last_used_at timestamptz(3),
        alter column token_hash drop not null,
        add constraint service_token_one_proof check ((token_hash is null) <> (certificate_subject is null))`);
    this.addSql(`
      create unique index service_token_certificate_subject_key on service_token (certificate_subject)
        where revoked_at is null`);
    // Tokens carry their id now. One that does not can no longer be used, and must not count as somebody's.
    this.addSql('update service_token set revoked_at = now() where revoked_at is null');
  }
}
