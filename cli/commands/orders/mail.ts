// hubctl mail: the mails that customers get about their orders.
import type { Command, Option } from 'commander';
import { MAIL_KINDS, MAIL_STATES } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { CliError, EXIT, usageError } from '../../errors/failure.ts';
import { itemsOrExport } from '../../output/export-to-file.ts';
import { addFormat, type FormatOptions, printTableOrCsv } from '../../output/table-or-csv.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { choiceOption } from '../../parse/shared-options.ts';
import {
  MAIL,
  MAIL_COLUMNS,
  MAIL_CSV,
  MAIL_FIELDS,
  mailView,
  PREVIEW,
  TEST_MAIL,
  TEST_MAIL_FIELDS,
  templateSummaryView,
  testMailView,
} from '../../views/orders/mail.ts';
import * as json from '../../views/schema.ts';
import {
  addListTemplatesVerb,
  addRemoveTemplateVerb,
  addSetTemplateVerb,
  addShowTemplateVerb,
  languageOption,
} from './mail-template.ts';

const EXAMPLE_ID = 'mal_01k8e7qk3vf2tb5s0w9m4x6ydz';

type Kind = keyof typeof MAIL_KINDS;
type ListOptions = FormatOptions & { app?: string; orderId?: string; state?: keyof typeof MAIL_STATES };
type SampleOptions = { app?: string; kind?: Kind; language?: string };

export const registerMail = nounOf(
  'mail',
  'Mails to customers about their orders: license keys, or the confirmation of a renewal or of more seats. The hub sends them if HUB_SMTP_URL is set.',
  [
    addListVerb,
    addShowVerb,
    addResendVerb,
    addPreviewVerb,
    addTestVerb,
    addListTemplatesVerb,
    addShowTemplateVerb,
    addSetTemplateVerb,
    addRemoveTemplateVerb,
  ],
);

function addListVerb(mail: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(mail, 'list', {
    summary: 'list mails',
    description: 'Lists mails, newest first. Filters combine with AND.',
    notes: ['CSV: RFC 4180 with a header.'],
    examples: ['hubctl mail list --state failed', 'hubctl mail list --app photo-lab --max 20 --output json'],
    prints: { document: itemsOrExport(json.list(MAIL), 'the mails') },
  })
    .option('--app <app>', 'only of this app')
    .option('--order-id <order>', 'only of this order, ord_…, or of the order of this session, chs_…')
    .addOption(choiceOption('--state <state>', 'only in this state', MAIL_STATES));
  addFormat(listing, 'the mails').action(async (options: ListOptions) => {
    const { app, orderId, state } = options;
    const wanted = omitUndefined({ app, order: orderId, state: state && MAIL_STATES[state] });
    const pages = readPages(hub.mails.listMails, wanted, 'mails', mailView);
    const printed = { pages, columns: MAIL_COLUMNS, csv: MAIL_CSV, none: 'No mail matches.' };
    await printTableOrCsv(commandContext, printed, options);
  });
}

function addShowVerb(mail: Command, { hub, out }: CommandContext): void {
  addVerb(mail, 'show', {
    summary: 'show a mail',
    description:
      'Shows the state of a mail, and the answer of the mail server. The hub stores neither the recipient nor the content: see `mail preview`.',
    examples: [`hubctl mail show ${EXAMPLE_ID}`],
    prints: { document: MAIL },
  })
    .argument('<mailId>', 'the mail, mal_…')
    .action(async (mailId: string) => {
      const reply = await hub.mails.getMail({ mailId });
      await out.record(mailView(reply.mail), MAIL_FIELDS);
    });
}

function addResendVerb(mail: Command, { hub, out }: CommandContext): void {
  addVerb(mail, 'resend', {
    summary: 'send a mail again',
    description:
      'Sends a mail again, to the present email address of the customer and with the present template. A mail that waits for its next attempt is sent at once.',
    examples: [`hubctl mail resend ${EXAMPLE_ID}`],
    prints: { document: MAIL },
  })
    .argument('<mailId>', 'the mail, mal_…')
    .action(async (mailId: string) => {
      const reply = await hub.mails.resendMail({ mailId });
      await out.record(mailView(reply.mail), MAIL_FIELDS);
      out.note(`See the result with: hubctl mail show ${mailId}`);
    });
}

function addPreviewVerb(mail: Command, { hub, out }: CommandContext): void {
  const description =
    'Prints a mail without sending it: of an order, as the hub would send it now, or of sample data. The preview of an order contains its license keys.';
  addVerb(mail, 'preview', {
    summary: 'print a mail without sending it',
    description,
    examples: [
      'hubctl mail preview --app photo-lab',
      'hubctl mail preview --app photo-lab --kind renewal --language bn --html > preview.html',
      'hubctl mail preview ord_01k8e7qk3vf2tb5s0w9m4x6ydz',
    ],
    prints: { document: PREVIEW },
  })
    .argument('[order]', 'the order, ord_…, or its session, chs_…')
    .option('--app <app>', 'sample data for this app')
    .addOption(kindOption())
    .addOption(languageOption('default: that of the session, or English'))
    .option('--html', 'print the HTML body only')
    .action(async (order: string | undefined, options: SampleOptions & { html?: true }) => {
      const { app, kind, language, html } = options;
      if ((order === undefined) === (app === undefined))
        throw usageError('Give either an order, or --app for sample data.');
      if (order !== undefined && kind !== undefined)
        throw usageError('--kind: the order determines it. Omit it.');
      const reply = await hub.mails.previewMail(
        omitUndefined({ order, app, kind: kind && MAIL_KINDS[kind], language }),
      );
      const template = templateSummaryView(reply.template);
      const view = { subject: reply.subject, text: reply.text, html: reply.html, template };
      if (out.json()) return out.record(view, []);
      if (html === true) return out.text(reply.html);
      await out.text(`Subject: ${reply.subject}\n\n${reply.text}`);
      const source = template.builtIn ? 'the built-in template' : `the template in ${template.language}`;
      out.note(`\nThis is ${source}. See its HTML with --html.`);
    });
}

function addTestVerb(mail: Command, { hub, out }: CommandContext): void {
  addVerb(mail, 'test', {
    summary: 'send a mail of sample data',
    description:
      'Sends a mail of sample data to an address at once, and prints the answer of the mail server. Exits 1 if it was not sent.',
    examples: ['hubctl mail test you@example.com --app photo-lab'],
    prints: { document: TEST_MAIL },
  })
    .argument('<to>', 'email address of the recipient')
    .requiredOption('--app <app>', 'slug of the app')
    .addOption(kindOption())
    .addOption(languageOption('default: English'))
    .action(async (to: string, options: SampleOptions & { app: string }) => {
      const { app, kind, language } = options;
      const reply = await hub.mails.sendTestMail({
        app,
        to,
        ...omitUndefined({ kind: kind && MAIL_KINDS[kind], language }),
      });
      const view = testMailView(reply);
      await out.record(view, TEST_MAIL_FIELDS);
      if (view.sent) return;
      throw new CliError('mail_test_failed', EXIT.failed, `The mail was not sent: ${view.problem}.`);
    });
}

function kindOption(): Option {
  return choiceOption('--kind <kind>', 'license, renewal or seats; default: license', MAIL_KINDS);
}
