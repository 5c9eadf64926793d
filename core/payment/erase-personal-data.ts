// Erases what charge sessions, refunds, callbacks and provider calls contain about a customer. Money stays.
import type { ErasePersonalData, LockSessions } from '../customer/erase-customer.ts';
import { QUEUE } from './callbacks/job-queue.ts';
import { DRIVERS } from './providers/registry.ts';

/** Stands for a text that contained personal data. */
const ERASED = 'erased';
/** In bytes of UTF-8. A shorter text is part of too many others, unless it is of Chinese characters. */
const SHORTEST = 3;

export const erasePayments: ErasePersonalData = async (client, { sessionIds: ids, values: all }) => {
  if (ids.length === 0) return { sessions: 0, callbacks: 0 };
  const values = [...new Set(all)].filter((value) => Buffer.byteLength(value) >= SHORTEST);
  await client.query({ name: 'erase_sessions', text: ERASE_SESSIONS, values: [ids, values] });
  const { rows } = await client.query<{ id: string }>({
    name: 'erase_callbacks',
    text: ERASE_CALLBACKS,
    values: [ids, values, DRIVERS.flatMap(({ callback }) => callback.reads)],
  });
  await client.query(ERASE_JOBS, [rows.map(({ id }) => id)]);
  await client.query({ name: 'erase_verifications', text: ERASE_VERIFICATIONS, values: [ids, values] });
  await client.query({ name: 'erase_refunds', text: ERASE_REFUNDS, values: [ids, values] });
  return { sessions: ids.length, callbacks: rows.length };
};

/** SQL: whether a text contains one of the values, in any case. */
const contains = (text: string): string =>
  `exists (select from unnest($2::text[]) v where position(lower(v) in lower(${text})) > 0)`;

/** SQL assignment that erases a text that contains one of the values. */
const erased = (column: string): string =>
  `${column} = case when ${contains(column)} then '${ERASED}' else ${column} end`;

// charge_session_pkey. A hash of the request could be guessed. The address of the shop may contain any text.
const ERASE_SESSIONS = `update charge_session
  set customer = '{}', metadata = '{}', request_hash = null, return_url = null, ${erased('status_reason')},
      ${erased('risk_title')}
  where id = any($1)`;

// Keeps the fields that identify a payment, so that a callback can be replayed. The digest of the other
// fields goes too: it could be guessed. callback_session_idx
const ERASE_CALLBACKS = `update callback
  set fields = (
        select coalesce(jsonb_object_agg(f.key,
          case when ${contains('f.value')} then '${ERASED}' else f.value end), '{}')
        from jsonb_each_text(fields) f where f.key = any($3)),
      ${erased('reason')}
  where session_id = any($1) returning id`;

// The result of a failed job contains its error.
const ERASE_JOBS = `update job set output = null
  where name = '${QUEUE}' and output is not null and data->>'callbackId' = any($1)`;

// verification_session_idx
const ERASE_VERIFICATIONS = `update verification set detail = '${ERASED}'
  where session_id = any($1) and ${contains('detail')}`;

// The texts of providers. The reasons and resolutions of operators stay. refund_session_idx
const ERASE_REFUNDS = `update refund set ${erased('state_reason')}, ${erased('review_reason')}
  where session_id = any($1) and ${contains("state_reason || ' ' || review_reason")}`;

/** In the order in which a settlement locks sessions. */
export const lockSessionsOfCustomer: LockSessions = async (client, { id, emails }) => {
  const { rows } = await client.query<{ id: string; customer: Readonly<Record<string, string>> }>({
    name: 'lock_sessions_of_customer',
    // charge_session_customer_email_idx, purchase_customer_idx, charge_session_pkey. The customer is locked:
    // no purchase is added meanwhile.
    text: `select id, customer from charge_session
           where lower(customer->>'email') = any($1)
              or id = any(array(select session_id from purchase where customer_id = $2))
           order by id for update`,
    values: [emails, id],
  });
  return {
    ids: rows.map((row) => row.id),
    values: rows.flatMap(({ customer }) => Object.values(customer)),
  };
};
