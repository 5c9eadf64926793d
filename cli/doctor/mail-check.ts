// The check of the mail server: connects and logs in, and sends nothing.
import { createMailer } from '../../core/mail/sending/send-mail.ts';
import { parseSmtpUrl } from '../../core/mail/sending/smtp-address.ts';
import { messageOf } from '../../lib/caught-error.ts';
import type { Settings } from '../serve/setting-table.ts';
import type { CheckResult } from '../views/operations/check-result.ts';
import { failed, ok } from './results.ts';

const TIMEOUT_MS = 10_000;

/** Nothing for a hub that sends no mail. */
export async function checkMailServer({ smtpUrl, mailFrom, smtpCa }: Settings): Promise<CheckResult[]> {
  if (smtpUrl === undefined || mailFrom === undefined) return [];
  const { host, port } = parseSmtpUrl(smtpUrl.reveal());
  const config = { smtpUrl, from: mailFrom, caFile: smtpCa };
  const mailer = createMailer({ config, timeoutMs: TIMEOUT_MS });
  try {
    await mailer.verify();
    return [ok('mail server', `${host}:${port}`)];
  } catch (error) {
    return [
      failed('mail server', `${host}:${port}: ${messageOf(error)}`, 'correct HUB_SMTP_URL or HUB_SMTP_CA'),
    ];
  } finally {
    mailer.close();
  }
}
