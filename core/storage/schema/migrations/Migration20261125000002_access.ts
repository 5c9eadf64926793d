// The table of the access module: service tokens and client certificates.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000002_access extends Migration {
  override up(): void {
    this.addSql(`
      create table service_token (
        id uuid primary key,
        name text not null,
        role text not null
          constraint service_token_role_check
            check (role in ('admin', 'operator', 'service', 'viewer', 'monitor', 'gateway', 'shop')),
        token_hash bytea constraint service_token_hash_key unique,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        revoked_at timestamptz(3),
        certificate_subject text,
        scope jsonb,
        last_used_at timestamptz(3),
        constraint service_token_one_proof check ((token_hash is null) <> (certificate_subject is null))
      )`);
    this.addSql(`
      create unique index service_token_certificate_subject_key on service_token (certificate_subject)
        where revoked_at is null`);
  }
}
