// Converts between mails and their messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { MailKind, MailSchema, MailTemplateSchema } from '../../gen/hub/mail/v1/mail_pb.ts';
import { MAIL_KINDS, MAIL_STATES, nameOf } from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import type { App } from '../license/entities.ts';
import { timestampsIn } from '../timestamp.ts';
import type { EffectiveTemplate } from './content/templates.ts';
import type { Mail, MailKindName } from './entities.ts';

/** UNSPECIFIED becomes `license`. */
export function mailKindFromProto(kind: MailKind): MailKindName {
  return nameOf(MAIL_KINDS, kind) ?? 'license';
}

export function mailToProto(mail: Mail): MessageInitShape<typeof MailSchema> {
  return {
    mailId: formatId('mal', mail.id),
    orderId: formatId('ord', mail.order.id),
    app: (mail.app as App).slug,
    kind: MAIL_KINDS[mail.kind],
    language: mail.language,
    state: MAIL_STATES[mail.state],
    attempts: mail.attempts,
    problem: mail.problem,
    smtpResponse: mail.smtpResponse,
    ...timestampsIn(mail, 'createdAt', 'nextAttemptAt', 'lastAttemptAt', 'sentAt'),
    messageId: mail.messageId,
  };
}

/** @param app slug */
export function templateToProto(
  app: string,
  template: EffectiveTemplate,
): MessageInitShape<typeof MailTemplateSchema> {
  const { kind, language, subject, text, html, updatedAt } = template;
  return {
    app,
    kind: MAIL_KINDS[kind],
    language,
    subject,
    text,
    html,
    ...timestampsIn(template, 'updatedAt'),
    builtIn: updatedAt === null,
  };
}

/** The same without the bodies. */
export function templateHeadToProto(app: string, template: EffectiveTemplate) {
  return templateToProto(app, { ...template, text: '', html: '' });
}
