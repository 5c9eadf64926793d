// Makes a mail due again.
import type { Pool } from 'pg';
import type { Actor } from '../access/caller.ts';
import { recordChangeNow } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { HubError, unknownId } from '../errors.ts';
import { formatId } from '../ids.ts';
import { dateOf, epochMs } from '../storage/sql/epoch.ts';
import { inTransaction } from '../storage/sql/transaction.ts';
import type { MailStateName } from './entities.ts';
import { newMessageId } from './queue/queue-mails.ts';

type LockedMail = {
  readonly state: MailStateName;
  readonly attempts: number;
  readonly nextAttemptMs: number | null;
  readonly erased: boolean;
};

export type Requeue = {
  /** UUID. */
  readonly id: string;
  readonly actor: Actor;
  readonly clock: Clock;
  /** The domain of a new Message-ID. */
  readonly domain: string;
};

/** @throws HubError `mail_unknown`, `customer_erased` */
export async function requeueMail(pool: Pool, { id, actor, clock, domain }: Requeue): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<LockedMail>({
      name: 'lock_mail',
      // mail_pkey, sales_order_pkey, customer_pkey
      text: `select m.state, m.attempts, ${epochMs('m.next_attempt_at')} as "nextAttemptMs",
                    u.erased_at is not null as erased
             from mail m join sales_order o on o.id = m.order_id join customer u on u.id = o.customer_id
             where m.id = $1 for update of m`,
      values: [id],
    });
    const [before] = rows;
    if (before === undefined) throw unknownId('mal');
    if (before.erased) {
      const message = 'the customer of this mail has been erased';
      throw new HubError('customer_erased', message, { field: 'mailId' });
    }
    const now = clock();
    await client.query({
      name: 'resend_mail',
      // mail_pkey. Mail programs drop a second mail with the Message-ID of one that they have.
      text: `update mail set state = 'queued', attempts = 0, next_attempt_at = $2, problem = '',
             smtp_response = '',
               sent_at = null, message_id = case when state = 'queued' then message_id else $3 end
             where id = $1`,
      values: [id, now, newMessageId(domain)],
    });
    await recordChangeNow(client, actor, now, {
      action: 'mail.resend',
      subject: formatId('mal', id),
      before: {
        state: before.state,
        attempts: before.attempts,
        nextAttemptAt: dateOf(before.nextAttemptMs)?.toISOString() ?? null,
      },
      after: { state: 'queued', attempts: 0, nextAttemptAt: now.toISOString() },
    });
  });
}
