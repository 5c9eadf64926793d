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
import { type ClaimedMail, claimMails, type FinishedMail, finishMail, releaseMails } from './claim-mails.ts';

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
/**
 * Mails of one claim: two for each connection, so that the second does not wait longer than the claim lasts.
 */
const CLAIM = 2 * MAX_CONNECTIONS;

export function startSender(options: SenderOptions) {
  const { logger, task } = options;
  let stopped = false;
  const repeated = repeatWhenWoken({
    everyMs: EVERY_MS,
    async pass(): Promise<void> {
      if (await sendDue(options, () => stopped)) repeated.wake();
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
      options.mailer.close();
    },
  };
}

/** Claims due mails and attempts each once. Returns whether more may be due. */
async function sendDue(options: SenderOptions, isStopped: () => boolean): Promise<boolean> {
  const { pool, clock } = options;
  const claimed = await claimMails(pool, { now: clock(), limit: CLAIM });
  const open = new Set(claimed);
  const waiting = [...claimed];
  const sendEach = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (isStopped()) return;
      const finished = await attempt(options, next);
      // The server may have accepted the mail: it is sent again, with the same Message-ID.
      if (finished === undefined) return;
      await finishMail(pool, next, finished);
      open.delete(next);
    }
  };
  try {
    const ended = await Promise.allSettled(Array.from({ length: MAX_CONNECTIONS }, sendEach));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  } finally {
    await releaseMails(pool, [...open], clock());
  }
  return claimed.length === CLAIM;
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
