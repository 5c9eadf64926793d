// JSON schemas and columns of mails and their templates.
import type { Mail, MailTemplate } from '../../../gen/hub/mail/v1/mail_pb.ts';
import type { SendTestMailResponse } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { MAIL_KINDS, MAIL_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  id,
  integer,
  object,
  optional,
  text,
  time,
  type ValueOf,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import type { CsvColumns } from '../../output/table-or-csv.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const MAIL = object(
  'Mail',
  {
    mailId: id('mal'),
    orderId: id('ord'),
    app: text(),
    kind: word(MAIL_KINDS),
    language: optional(text('language of the session')),
    state: word(MAIL_STATES),
    attempts: integer(),
    nextAttemptAt: optional(time('time of the next attempt')),
    lastAttemptAt: optional(time('time of the last attempt')),
    problem: optional(text('why the last attempt failed')),
    smtpResponse: optional(text('the answer of the mail server, without email addresses')),
    createdAt: time(),
    sentAt: optional(time('when the mail server accepted it')),
    messageId: text(),
  },
  { message: 'hub.mail.v1.Mail' },
);
export type MailView = ValueOf<typeof MAIL>;

export function mailView(mail: Mail): MailView {
  const { language, nextAttemptAt, lastAttemptAt, problem, smtpResponse, sentAt } = mail;
  return {
    mailId: mail.mailId,
    orderId: mail.orderId,
    app: mail.app,
    kind: wordFor(MAIL_KINDS, mail.kind),
    ...(language !== '' && { language }),
    state: wordFor(MAIL_STATES, mail.state),
    attempts: mail.attempts,
    ...(nextAttemptAt && { nextAttemptAt: rfc3339(nextAttemptAt) }),
    ...(lastAttemptAt && { lastAttemptAt: rfc3339(lastAttemptAt) }),
    ...(problem !== '' && { problem }),
    ...(smtpResponse !== '' && { smtpResponse }),
    createdAt: rfc3339(requireField(mail.createdAt, 'time of creation')),
    ...(sentAt && { sentAt: rfc3339(sentAt) }),
    messageId: mail.messageId,
  };
}

export const MAIL_COLUMNS: readonly Column<MailView>[] = [
  { title: 'MAIL', cell: (item) => item.mailId },
  { title: 'STATE', cell: (item) => item.state },
  { title: 'KIND', cell: (item) => item.kind },
  { title: 'APP', cell: (item) => item.app },
  { title: 'ORDER', cell: (item) => item.orderId },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
  { title: 'ATTEMPTS', cell: (item) => item.attempts, right: true },
  { title: 'NEXT', cell: (item) => shortTime(item.nextAttemptAt) },
  { title: 'PROBLEM', cell: (item) => item.problem },
];

export const MAIL_FIELDS: readonly Column<MailView>[] = [
  { title: 'Mail', cell: (item) => item.mailId },
  { title: 'State', cell: (item) => item.state },
  { title: 'Kind', cell: (item) => item.kind },
  { title: 'App', cell: (item) => item.app },
  { title: 'Order', cell: (item) => item.orderId },
  { title: 'Language', cell: (item) => item.language },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Sent', cell: (item) => shortTime(item.sentAt) },
  { title: 'Attempts', cell: (item) => item.attempts },
  { title: 'Last attempt', cell: (item) => shortTime(item.lastAttemptAt) },
  { title: 'Next attempt', cell: (item) => shortTime(item.nextAttemptAt) },
  { title: 'Problem', cell: (item) => item.problem },
  { title: 'Answer', cell: (item) => item.smtpResponse },
  { title: 'Message-ID', cell: (item) => item.messageId },
];

/** The columns of a CSV file. */
export const MAIL_CSV: CsvColumns<MailView> = {
  mailId: (item) => item.mailId,
  state: (item) => item.state,
  kind: (item) => item.kind,
  app: (item) => item.app,
  orderId: (item) => item.orderId,
  createdAt: (item) => item.createdAt,
  sentAt: (item) => item.sentAt ?? '',
  attempts: (item) => String(item.attempts),
  nextAttemptAt: (item) => item.nextAttemptAt ?? '',
  problem: (item) => item.problem ?? '',
  smtpResponse: (item) => item.smtpResponse ?? '',
  messageId: (item) => item.messageId,
};

const TEMPLATE_HEAD = {
  app: text(),
  kind: word(MAIL_KINDS),
  language: text(),
  subject: text(),
  updatedAt: optional(time('when it was set; missing for a built-in template')),
  builtIn: boolean(),
};

export const TEMPLATE_SUMMARY = object('MailTemplateSummary', TEMPLATE_HEAD, {
  message: 'hub.mail.v1.MailTemplate',
  without: ['text', 'html'],
});
export type TemplateSummaryView = ValueOf<typeof TEMPLATE_SUMMARY>;

export const TEMPLATE = object(
  'MailTemplate',
  { ...TEMPLATE_HEAD, text: text(), html: text() },
  { message: 'hub.mail.v1.MailTemplate' },
);
export type TemplateView = ValueOf<typeof TEMPLATE>;

export function templateSummaryView(template: MailTemplate): TemplateSummaryView {
  const { app, kind, language, subject, updatedAt, builtIn } = template;
  return {
    app,
    kind: wordFor(MAIL_KINDS, kind),
    language,
    subject,
    ...(updatedAt && { updatedAt: rfc3339(updatedAt) }),
    builtIn,
  };
}

export function templateView(template: MailTemplate): TemplateView {
  return { ...templateSummaryView(template), text: template.text, html: template.html };
}

export const TEMPLATE_COLUMNS: readonly Column<TemplateSummaryView>[] = [
  { title: 'KIND', cell: (item) => item.kind },
  { title: 'LANGUAGE', cell: (item) => item.language },
  { title: 'SUBJECT', cell: (item) => item.subject },
  { title: 'SET', cell: (item) => shortTime(item.updatedAt) },
];

export const TEMPLATE_FIELDS: readonly Column<TemplateSummaryView>[] = [
  { title: 'App', cell: (item) => item.app },
  { title: 'Kind', cell: (item) => item.kind },
  { title: 'Language', cell: (item) => item.language },
  { title: 'Subject', cell: (item) => item.subject },
  { title: 'Set', cell: (item) => (item.builtIn ? 'built in' : shortTime(item.updatedAt)) },
];

export const REMOVED_TEMPLATE = object('RemovedMailTemplate', {
  app: text('slug of the app'),
  kind: word(MAIL_KINDS),
  language: text('language of the removed template'),
});

export const PREVIEW = object(
  'MailPreview',
  { subject: text(), text: text(), html: text(), template: TEMPLATE_SUMMARY },
  { message: 'hub.mail.v1.PreviewMailResponse' },
);

export const TEST_MAIL = object(
  'TestMail',
  { sent: boolean(), problem: optional(text()), smtpResponse: optional(text()), messageId: text() },
  { message: 'hub.mail.v1.SendTestMailResponse' },
);
export type TestMailView = ValueOf<typeof TEST_MAIL>;

export function testMailView(response: SendTestMailResponse): TestMailView {
  const { sent, problem, smtpResponse, messageId } = response;
  return {
    sent,
    ...(problem !== '' && { problem }),
    ...(smtpResponse !== '' && { smtpResponse }),
    messageId,
  };
}

export const TEST_MAIL_FIELDS: readonly Column<TestMailView>[] = [
  { title: 'Sent', cell: (item) => (item.sent ? 'yes' : 'no') },
  { title: 'Problem', cell: (item) => item.problem },
  { title: 'Answer', cell: (item) => item.smtpResponse },
  { title: 'Message-ID', cell: (item) => item.messageId },
];
