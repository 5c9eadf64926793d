// The tables of the customer module: customers and their search, and the results of idempotent requests.
import { Migration } from '@mikro-orm/migrations';

export class Migration20261125000004_customer extends Migration {
  override up(): void {
    this.addSql(SEARCH_GRAMS);
    this.addCustomers();
    this.addIdempotentRequests();
  }

  private addCustomers(): void {
    this.addSql(`
      create table customer (
        id uuid primary key,
        name text not null,
        email text,
        external_ref text constraint customer_external_ref_key unique,
        metadata jsonb not null default '{}',
        sealed_data_key bytea,
        created_at timestamptz(3) not null,
        erased_at timestamptz(3),
        search_grams text[] generated always as
          (search_grams(name || chr(10) || coalesce(email, '') || chr(10) || coalesce(external_ref, '')))
            stored
      )`);
    this.addSql('create index customer_name_idx on customer (name, id)');
    this.addSql('create index customer_email_idx on customer (lower(email), id) where email is not null');
    this.addSql('create index customer_search_idx on customer using gin (search_grams)');
  }

  private addIdempotentRequests(): void {
    this.addSql(`
      create table idempotent_request (
        scope text not null,
        key text not null,
        request_hash bytea,
        result_ids uuid[] not null,
        key_generation int,
        customer_id uuid constraint idempotent_request_customer_id_foreign references customer (id)
            on delete restrict,
        created_at timestamptz(3) not null,
        constraint idempotent_request_pkey primary key (scope, key)
      )`);
    this.addSql(`
      create index idempotent_request_customer_idx on idempotent_request (customer_id)
        where customer_id is not null`);
  }
}

/**
 * The distinct runs of three characters of a text, in lower case, for searches of substrings. The extension
 * pg_trgm does the same, but not every role may install it.
 */
const SEARCH_GRAMS = `
  create function search_grams(words text) returns text[] language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct substr(t.lowered, n, 3)), '{}')
    from (select lower(words) as lowered) t, generate_series(1, length(t.lowered) - 2) n
  $$;
  create function metadata_grams(metadata jsonb) returns text[] language sql immutable parallel safe as $$
    select coalesce(array_agg(distinct substr(lower(value), n, 3)), '{}')
    from jsonb_each_text(metadata), generate_series(1, length(lower(value)) - 2) n
  $$`;
