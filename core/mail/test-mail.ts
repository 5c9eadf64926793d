// Sends a mail of sample data to an address, once.
import type { Actor } from '../access/caller.ts';
import { recordChangeNow } from '../audit/record.ts';
import { formatId } from '../ids.ts';
import { findApp } from '../license/admin/find-app.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import type { TemplateRef } from './content/templates.ts';
import { mailNotConfigured } from './mail-admin.ts';
import type { Previews } from './preview-mail.ts';
import { newMessageId } from './queue/queue-mails.ts';
import type { Mailer } from './sending/send-mail.ts';

export type SendTestOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly previews: Pick<Previews, 'ofSample'>;
  /** Undefined if the hub sends no mail. */
  readonly mailer: Mailer | undefined;
};

export type TestedMail = {
  readonly sent: boolean;
  /** Empty if it was sent. */
  readonly problem: string;
  readonly smtpResponse: string;
  readonly messageId: string;
};

/** Shorter than clients wait for an RPC. */
const TIMEOUT_MS = 20_000;

/** The function rejects with HubError `app_unknown`, `language_invalid` or `mail_not_configured`. */
export function createSendTest({ db, clock, previews, mailer }: SendTestOptions) {
  return async (address: string, ref: TemplateRef, actor: Actor): Promise<TestedMail> => {
    if (mailer === undefined) throw mailNotConfigured();
    const app = await findApp(db.em(), ref.app);
    const { content } = await previews.ofSample(ref);
    const messageId = newMessageId(mailer.domain);
    const subject = `[Test] ${content.subject}`;
    const result = await mailer.send(
      { ...content, subject, to: { name: '', address }, messageId },
      TIMEOUT_MS,
    );
    const sent = result.kind === 'sent';
    // Without the address, which is personal data.
    await recordChangeNow(db.pool, actor, clock(), {
      action: 'mail.test',
      subject: formatId('app', app.id),
      before: null,
      after: { kind: ref.kind, sent, messageId },
    });
    if (result.kind === 'aborted') {
      return { sent, problem: 'the hub is stopping', smtpResponse: '', messageId };
    }
    const problem = result.kind === 'sent' ? '' : result.problem;
    return { sent, problem, smtpResponse: result.response, messageId };
  };
}
