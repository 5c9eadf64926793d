// A usage log in the form that settled payments leave.
import { query } from '../postgres/databases.ts';

/** Inserts entries without fees for a new slot, from now into the past. */
export async function fillUsageLog(
  databaseUrl: string,
  { entries, secondsApart }: { readonly entries: number; readonly secondsApart: number },
): Promise<void> {
  await query(
    databaseUrl,
    `insert into slot (id, name, gateway, environment, base_url, options, sealed_credentials, created_at, rotated_at)
     values (gen_random_uuid(), 'main', 'gateway_one', 'sandbox', 'http://127.0.0.1:1/', '{}', '', now(), now())`,
  );
  await query(
    databaseUrl,
    `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency, fee_total_minor,
                            order_reference, settled_at)
     select e.id, 'payment', e.id, e.slot_id, 'gateway_one', 'V' || n, 10000, 'BDT', 150, 'ORD-' || n,
            now() - interval '1 second' * $2 * n
     from (select n, slot.id as slot_id, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')
             || '8' || lpad(to_hex(n), 15, '0'))::uuid as id
           from slot, generate_series(1, $1::int) n) e`,
    [entries, secondsApart],
  );
}
