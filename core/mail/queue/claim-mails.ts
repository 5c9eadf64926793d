// The queue of mails: claims those that are due, and records their results.
import type { Pool } from 'pg';
import { SEND_TIMEOUT_MS } from '../sending/send-mail.ts';

/** Ids are UUIDs. */
export type ClaimedMail = {
  readonly id: string;
  readonly orderId: string;
  readonly messageId: string;
  /** Attempts before this one. */
  readonly attempts: number;
  /** Identifies the claim. It is lost at this time, or when the mail is sent again. */
  readonly claimedUntil: Date;
};

/** Longer than an attempt takes. After this time, other hubs send what a killed hub had claimed. */
const CLAIM_MS = 3 * SEND_TIMEOUT_MS;

/** Claims up to `limit` due mails, the longest overdue first. */
export async function claimMails(
  pool: Pool,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<ClaimedMail[]> {
  const claimedUntil = new Date(now.getTime() + CLAIM_MS);
  const { rows } = await pool.query<Omit<ClaimedMail, 'claimedUntil'>>({
    name: 'claim_mails',
    // mail_due_idx, mail_pkey
    text: `update mail set next_attempt_at = $3
           where id = any(array(
             select id from mail where state = 'queued' and next_attempt_at <= $1
             order by next_attempt_at limit $2 for update skip locked))
           returning id, order_id as "orderId", message_id as "messageId", attempts`,
    values: [now, limit, claimedUntil],
  });
  return rows.map((row) => ({ ...row, claimedUntil }));
}

export type FinishedMail = {
  readonly state: 'queued' | 'sent' | 'failed';
  readonly at: Date;
  /** Null unless the mail stays queued. */
  readonly nextAttemptAt: Date | null;
  readonly problem: string;
  readonly response: string;
};

/** Records the result of an attempt, unless its claim is lost. */
export async function finishMail(
  pool: Pool,
  { id, claimedUntil }: ClaimedMail,
  { state, at, nextAttemptAt, problem, response }: FinishedMail,
): Promise<void> {
  await pool.query({
    name: 'finish_mail',
    // mail_pkey
    text: `update mail
           set state = $3, attempts = attempts + 1, next_attempt_at = $4, last_attempt_at = $5, problem = $6,
               smtp_response = $7, sent_at = case when $3 = 'sent' then $5::timestamptz end
           where id = $1 and state = 'queued' and next_attempt_at = $2`,
    values: [id, claimedUntil, state, nextAttemptAt, at, problem, response],
  });
}

/** Releases a claim, so that any hub can send the mail at once. */
export async function releaseMail(pool: Pool, { id, claimedUntil }: ClaimedMail, now: Date): Promise<void> {
  await pool.query({
    name: 'release_mail',
    // mail_pkey
    text: `update mail set next_attempt_at = $3
           where id = $1 and state = 'queued' and next_attempt_at = $2`,
    values: [id, claimedUntil, now],
  });
}
