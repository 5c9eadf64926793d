// The metrics of mails, for sending and for the table.
import type { Metrics } from '../../lib/metrics/metrics.ts';
import type { Figures } from '../storage/database-metrics.ts';

export type MailMetrics = ReturnType<typeof createMailMetrics>;

export function createMailMetrics(metrics: Metrics) {
  const attempts = metrics.counter({
    name: 'hub_mail_attempts_total',
    help: 'Attempts to send a mail, by result: sent, deferred (the hub tries again) or failed.',
    labelNames: ['result'],
  });
  for (const result of ['sent', 'deferred', 'failed']) attempts.labels(result).inc(0);
  return { attempted: (result: 'sent' | 'deferred' | 'failed'): void => attempts.labels(result).inc() };
}

const QUEUED = 'hub_mails_queued';
const AGE = 'hub_mail_queue_age_seconds';
const FAILED = 'hub_mails_failed';

const COUNTED = 10_000;

export const mailTableMetrics: Figures = {
  specs: [
    { name: QUEUED, help: `Mails that are not sent yet, counted up to ${COUNTED}.` },
    { name: AGE, help: 'Age of the oldest mail that is not sent yet, in seconds; 0 without one.' },
    {
      name: FAILED,
      help: `Mails that failed in the last three days and were not sent again, counted up to ${COUNTED}.`,
    },
  ],
  async read(client) {
    const { rows } = await client.query<{ queued: number; age: number | null; failed: number }>({
      name: 'mail_figures',
      // mail_queued_idx, mail_failed_idx. Ids are in the order of time.
      text: `select (select count(*)
             from (select from mail where state = 'queued' limit ${COUNTED}) q)::int as queued,
                    (select greatest(0, extract(epoch from now() - created_at))::float8
                     from mail where state = 'queued' order by id limit 1) as age,
                    (select count(*) from (select from mail where state = 'failed'
                       and last_attempt_at > now() - interval '3 days' limit ${COUNTED}) f)::int as failed`,
    });
    const [row] = rows;
    return row ? { [QUEUED]: row.queued, [AGE]: row.age ?? 0, [FAILED]: row.failed } : {};
  },
};
