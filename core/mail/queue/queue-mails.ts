// Queues the mails of fulfilled orders, in the transaction that fulfills them.
import { newUuid } from '../../ids.ts';
import type { QueueMails } from '../../order/fulfillment/grant-purchases.ts';

/** @param domain of the Message-IDs */
export function createQueueMails(domain: string): QueueMails {
  return (granted, at) => {
    const fulfilled = granted.filter(
      ({ blocked, purchase }) => blocked === undefined && purchase.customerId !== null,
    );
    if (fulfilled.length === 0) return [];
    return [
      {
        name: 'queue_mails',
        // customer_pkey, charge_session_pkey, mail_order_id_key. An order that is granted again after a
        // reversal has a mail, which failed if an attempt found the order refunded. It starts again as in
        // `requeueMail`; an attempt in progress loses its claim.
        text: `insert into mail (id, order_id, app_id, kind, language, state, next_attempt_at, message_id,
               created_at)
               select t.id, t.order_id, t.app_id, t.kind, coalesce(c.language, ''), 'queued', $7,
                 t.message_id, $7
               from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $8::uuid[])
                 as t (id, order_id, app_id, kind, session_id, message_id, customer_id)
               join customer u on u.id = t.customer_id join charge_session c on c.id = t.session_id
               where u.email is not null
               on conflict (order_id) do update
               set state = 'queued', attempts = 0, next_attempt_at = excluded.next_attempt_at, problem = '',
                   smtp_response = '',
                   message_id = case when mail.state = 'queued' then mail.message_id
                                     else excluded.message_id end
               where mail.state <> 'sent'`,
        values: [
          fulfilled.map(() => newUuid()),
          fulfilled.map(({ orderId }) => orderId),
          fulfilled.map(({ purchase }) => purchase.app.id),
          fulfilled.map(({ purchase }) => purchase.grant.kind),
          fulfilled.map(({ purchase }) => purchase.sessionId),
          fulfilled.map(() => newMessageId(domain)),
          at,
          fulfilled.map(({ purchase }) => purchase.customerId),
        ],
      },
    ];
  };
}

/** Without angle brackets. */
export function newMessageId(domain: string): string {
  return `${newUuid()}@${domain}`;
}
