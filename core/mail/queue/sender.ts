// Looks for due mails once a second, and sends a few at a time.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import type { Clock } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import { repeatWhenWoken } from '../../repeated-task.ts';
import { isDatabaseUnavailable } from '../../storage/sql/transient-errors.ts';
import type { Compose } from '../content/compose-mail.ts';
import type { MailMetrics } from '../metrics.ts';
import { retryDelayMs } from '../sending/retry-schedule.ts';
import { MAX_CONNECTIONS, type Mailer, type SendResult } from '../sending/send-mail.ts';
import { type ClaimedMail, claimMails, type FinishedMail, finishMail, releaseMail } from './claim-mails.ts';

export type SenderOptions = {
  readonly pool: Pool;
  readonly mailer: Mailer;
  readonly compose: Compose;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
  readonly metrics: MailMetrics;
};

const EVERY_MS = 1_000;

export function startSender(options: SenderOptions) {
  const { pool, clock, logger, task } = options;
  const sending = new Set<Promise<void>>();
  let stopped = false;
  /** Whether more mails may be due than connections were free. */
  let hasMore = false;

  const start = (mail: ClaimedMail): void => {
    const ending = sendClaimed(options, mail, () => stopped)
      .then(
        () => hasMore,
        (err) => {
          task.failed();
          logger.warn({ err, mailId: formatId('mal', mail.id) }, 'cannot send a mail; the hub tries again');
          return false;
        },
      )
      .then((more) => {
        sending.delete(ending);
        if (more) repeated.wake();
      });
    sending.add(ending);
  };

  const repeated = repeatWhenWoken({
    everyMs: EVERY_MS,
    /** Claims one mail for each free connection, so that no mail waits for another one that is slow. */
    async pass(): Promise<void> {
      const free = MAX_CONNECTIONS - sending.size;
      const claimed = free > 0 ? await claimMails(pool, { now: clock(), limit: free }) : [];
      hasMore = claimed.length === free;
      claimed.forEach(start);
    },
    task,
    logger,
    failureMessage: 'cannot send the due mails; the hub tries again',
  });
  return {
    /** Looks for due mails at once. */
    wake: repeated.wake,
    /** Waits for the mails in progress; others stay queued. */
    async stop(): Promise<void> {
      stopped = true;
      await repeated.stop();
      await Promise.all(sending);
      options.mailer.close();
    },
  };
}

/** Attempts a claimed mail once and records the result. Releases the claim if there is no result. */
async function sendClaimed(
  options: SenderOptions,
  mail: ClaimedMail,
  isStopped: () => boolean,
): Promise<void> {
  const { pool, clock } = options;
  let isFinished = false;
  try {
    if (isStopped()) return;
    const finished = await attempt(options, mail);
    // The server may have accepted the mail: it is sent again, with the same Message-ID.
    if (finished === undefined) return;
    await finishMail(pool, mail, finished);
    isFinished = true;
  } finally {
    if (!isFinished) await releaseMail(pool, mail, clock());
  }
}

/** Undefined if the hub aborted it. */
async function attempt(options: SenderOptions, mail: ClaimedMail): Promise<FinishedMail | undefined> {
  const { clock, logger, metrics } = options;
  const mailId = formatId('mal', mail.id);
  const result = await composeAndSend(options, mail);
  const at = clock();
  if (result.kind === 'aborted') return undefined;
  const { response } = result;
  if (result.kind === 'sent') {
    metrics.attempted('sent');
    logger.debug({ mailId }, 'sent a mail');
    return { state: 'sent', at, nextAttemptAt: null, problem: '', response };
  }
  const { problem } = result;
  const delayMs = result.kind === 'deferred' ? retryDelayMs(mail.attempts + 1) : undefined;
  if (delayMs === undefined) {
    metrics.attempted('failed');
    logger.warn({ mailId, problem, response }, 'a mail was not sent, and the hub does not try again');
    return { state: 'failed', at, nextAttemptAt: null, problem, response };
  }
  metrics.attempted('deferred');
  logger.info({ mailId, problem, response }, 'a mail was not sent; the hub tries again');
  return { state: 'queued', at, nextAttemptAt: new Date(at.getTime() + delayMs), problem, response };
}

async function composeAndSend(
  { compose, mailer, logger }: SenderOptions,
  { id, orderId, messageId }: ClaimedMail,
): Promise<SendResult> {
  try {
    const composed = await compose(orderId);
    if ('problem' in composed) return { kind: 'refused', problem: composed.problem, response: '' };
    return await mailer.send({ ...composed.content, to: composed.to, messageId });
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    logger.error({ mailId: formatId('mal', id), err }, 'cannot compose a mail');
    return { kind: 'deferred', problem: 'the hub cannot compose the mail: its log says why', response: '' };
  }
}
