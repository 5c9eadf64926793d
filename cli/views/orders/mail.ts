// JSON schemas and columns of mails and their templates.
import { MAIL_KINDS, MAIL_STATES } from '../../../lib/presentation/enum-names.ts';
import { type CsvColumns, csv } from '../../output/csv.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { shortTime } from '../cells.ts';
import * as json from '../schema.ts';

export const MAIL = json.view('Mail', 'hub.mail.v1.Mail', {
  mailId: json.id('mal'),
  orderId: json.id('ord'),
  app: json.text(),
  kind: json.word(MAIL_KINDS),
  language: json.optional(json.text('language of the session')),
  state: json.word(MAIL_STATES),
  attempts: json.integer(),
  nextAttemptAt: json.optional(json.time('time of the next attempt')),
  lastAttemptAt: json.optional(json.time('time of the last attempt')),
  problem: json.optional(json.text('why the last attempt failed')),
  smtpResponse: json.optional(json.text('the answer of the mail server, without email addresses')),
  createdAt: json.time(),
  sentAt: json.optional(json.time('when the mail server accepted it')),
  messageId: json.text(),
});
export type MailView = json.ValueOf<typeof MAIL>;

export const mailView = json.viewer(MAIL);

export const MAIL_FIELDS: readonly Column<MailView>[] = [
  ...columnsOf(MAIL, 'mailId', 'state', 'kind', 'app', 'orderId', 'language', 'createdAt', 'sentAt'),
  ...columnsOf(MAIL, 'attempts', 'lastAttemptAt', 'nextAttemptAt', 'problem', { smtpResponse: 'Answer' }),
  ...columnsOf(MAIL, { messageId: 'Message-ID' }),
];

export const MAIL_COLUMNS: readonly Column<MailView>[] = [
  ...pick(MAIL_FIELDS, 'Mail', 'State', 'Kind', 'App', 'Order', 'Created', 'Attempts'),
  { title: 'Next', cell: (item) => shortTime(item.nextAttemptAt) },
  ...pick(MAIL_FIELDS, 'Problem'),
];

export const MAIL_CSV: CsvColumns<MailView> = {
  ...csv<MailView>('mailId', 'state', 'kind', 'app', 'orderId', 'createdAt', 'sentAt', 'attempts'),
  ...csv<MailView>('nextAttemptAt', 'problem', 'smtpResponse', 'messageId'),
};

const TEMPLATE_HEAD = {
  app: json.text(),
  kind: json.word(MAIL_KINDS),
  language: json.text(),
  subject: json.text(),
  updatedAt: json.optional(json.time('when it was set; missing for a built-in template')),
  builtIn: json.boolean(),
};

export const TEMPLATE_SUMMARY = json.view(
  'MailTemplateSummary',
  { message: 'hub.mail.v1.MailTemplate', without: ['text', 'html'] },
  TEMPLATE_HEAD,
);
export type TemplateSummaryView = json.ValueOf<typeof TEMPLATE_SUMMARY>;

export const TEMPLATE = json.view('MailTemplate', 'hub.mail.v1.MailTemplate', {
  ...TEMPLATE_HEAD,
  text: json.text(),
  html: json.text(),
});

export const templateSummaryView = json.viewer(TEMPLATE_SUMMARY);

export const templateView = json.viewer(TEMPLATE);

export const TEMPLATE_COLUMNS = columnsOf(TEMPLATE_SUMMARY, 'kind', 'language', 'subject', {
  updatedAt: 'Set',
});

export const TEMPLATE_FIELDS: readonly Column<TemplateSummaryView>[] = [
  ...columnsOf(TEMPLATE_SUMMARY, 'app', 'kind', 'language', 'subject'),
  { title: 'Set', cell: (item) => (item.builtIn ? 'built in' : shortTime(item.updatedAt)) },
];

export const REMOVED_TEMPLATE = json.object('RemovedMailTemplate', {
  app: json.text('slug of the app'),
  kind: json.word(MAIL_KINDS),
  language: json.text('language of the removed template'),
});

export const PREVIEW = json.view('MailPreview', 'hub.mail.v1.PreviewMailResponse', {
  subject: json.text(),
  text: json.text(),
  html: json.text(),
  template: TEMPLATE_SUMMARY,
});

export const TEST_MAIL = json.view('TestMail', 'hub.mail.v1.SendTestMailResponse', {
  sent: json.boolean(),
  problem: json.optional(json.text()),
  smtpResponse: json.optional(json.text()),
  messageId: json.text(),
});
export type TestMailView = json.ValueOf<typeof TEST_MAIL>;

export const testMailView = json.viewer(TEST_MAIL);

export const TEST_MAIL_FIELDS: readonly Column<TestMailView>[] = [
  { title: 'Sent', cell: (item) => (item.sent ? 'yes' : 'no') },
  ...columnsOf(TEST_MAIL, 'problem', { smtpResponse: 'Answer', messageId: 'Message-ID' }),
];
