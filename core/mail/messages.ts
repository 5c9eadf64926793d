// Converts between mails and their messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { MailKind, MailSchema, MailState, MailTemplateSchema } from '../../gen/hub/mail/v1/mail_pb.ts';
import { MAIL_KINDS, MAIL_STATES, nameOf } from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import type { App } from '../license/entities.ts';
import type { EffectiveTemplate } from './content/templates.ts';
import type { Mail, MailKindName, MailStateName } from './entities.ts';

/** UNSPECIFIED becomes `license`. */
export function mailKindFromProto(kind: MailKind): MailKindName {
  return nameOf(MAIL_KINDS, kind) ?? 'license';
}

/** UNSPECIFIED becomes undefined. */
export function mailStateFromProto(state: MailState): MailStateName | undefined {
  return nameOf(MAIL_STATES, state);
}

export function mailToProto(mail: Mail): MessageInitShape<typeof MailSchema> {
  const { nextAttemptAt, lastAttemptAt, sentAt } = mail;
  return {
    mailId: formatId('mal', mail.id),
    orderId: formatId('ord', mail.order.id),
    app: (mail.app as App).slug,
    kind: MAIL_KINDS[mail.kind],
    language: mail.language,
    state: MAIL_STATES[mail.state],
    attempts: mail.attempts,
    ...(nextAttemptAt && { nextAttemptAt: timestampFromDate(nextAttemptAt) }),
    ...(lastAttemptAt && { lastAttemptAt: timestampFromDate(lastAttemptAt) }),
    problem: mail.problem,
    smtpResponse: mail.smtpResponse,
    createdAt: timestampFromDate(mail.createdAt),
    ...(sentAt && { sentAt: timestampFromDate(sentAt) }),
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
    ...(updatedAt && { updatedAt: timestampFromDate(updatedAt) }),
    builtIn: updatedAt === null,
  };
}

/** The same without the bodies. */
export function templateHeadToProto(app: string, template: EffectiveTemplate) {
  return templateToProto(app, { ...template, text: '', html: '' });
}
