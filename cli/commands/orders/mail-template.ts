// hubctl mail list-templates, show-template, set-template, remove-template.
import { readFile } from 'node:fs/promises';
import { Argument, type Command, Option } from 'commander';
import { MAIL_KINDS } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { usageError } from '../../errors/failure.ts';
import { yesOption } from '../../parse/shared-options.ts';
import {
  REMOVED_TEMPLATE,
  TEMPLATE,
  TEMPLATE_COLUMNS,
  TEMPLATE_FIELDS,
  TEMPLATE_SUMMARY,
  templateSummaryView,
  templateView,
} from '../../views/orders/mail.ts';

type Kind = keyof typeof MAIL_KINDS;

const PLACEHOLDERS =
  'Placeholders: {{customerName}}, {{appName}}, {{offerName}}, {{orderId}}, {{quantity}}, {{amount}}, {{paidOn}}, {{downloadUrl}}. {{#licenses}}…{{/licenses}} repeats for each license, with {{licenseId}} and, by kind, {{licenseKey}}, {{expiresOn}} or {{seatsAdded}}. {{#downloadUrl}}…{{/downloadUrl}} prints only if there is a value, {{^downloadUrl}}…{{/downloadUrl}} only if there is none.';

export function addListTemplatesVerb(mail: Command, { hub, out }: CommandContext): void {
  addVerb(mail, 'list-templates', {
    summary: 'list the templates of an app',
    description: 'Lists the templates of an app. For other kinds and languages the hub has built-in ones.',
    examples: ['hubctl mail list-templates photo-lab'],
    prints: { list: TEMPLATE_SUMMARY },
  })
    .argument('<app>', 'slug of the app')
    .action(async (app: string) => {
      const { templates } = await hub.mails.listMailTemplates({ app });
      await out.list([templates.map(templateSummaryView)], TEMPLATE_COLUMNS, {
        none: `The app ${app} has no templates: its mails use the built-in ones.`,
      });
    });
}

export function addShowTemplateVerb(mail: Command, { hub, out }: CommandContext): void {
  addVerb(mail, 'show-template', {
    summary: 'show the template that mails of a language use',
    description:
      'Shows the template that mails of a language use: that of the app in this language, in a more general one (for bn-BD in bn), in English, or the built-in one.',
    examples: [
      'hubctl mail show-template photo-lab license',
      'hubctl mail show-template photo-lab license --html > license.html',
    ],
    prints: { document: TEMPLATE },
  })
    .argument('<app>', 'slug of the app')
    .addArgument(kindArgument())
    .addOption(languageOption('default: English'))
    .option('--html', 'print the HTML body only')
    .action(async (app: string, kind: Kind, { language = '', html }: { language?: string; html?: true }) => {
      const reply = await hub.mails.getMailTemplate({ app, kind: MAIL_KINDS[kind], language });
      const view = templateView(reply.template);
      if (html === true && !out.json()) return out.text(view.html);
      await out.record(view, TEMPLATE_FIELDS);
      if (!out.json()) await out.text(`\n${view.text}`);
    });
}

type SetOptions = {
  readonly language: string;
  readonly subjectLine: string;
  readonly textFile: string;
  readonly htmlFile?: string;
};

export function addSetTemplateVerb(mail: Command, { hub, out }: CommandContext): void {
  addVerb(mail, 'set-template', {
    summary: 'set a template of an app',
    description:
      'Sets or replaces the template of an app for a kind and a language. Mails that are sent from then on use it.',
    notes: [PLACEHOLDERS],
    examples: [
      "hubctl mail set-template photo-lab license --language bn --subject-line '{{appName}}' --text-file license.txt --html-file license.html",
    ],
    prints: { document: TEMPLATE },
  })
    .argument('<app>', 'slug of the app')
    .addArgument(kindArgument())
    .addOption(languageOption('a BCP 47 tag such as en or bn-BD').makeOptionMandatory())
    .requiredOption('--subject-line <text>', 'subject; placeholders are allowed')
    .requiredOption('--text-file <file>', 'file of the plain text')
    .option('--html-file <file>', 'file of the HTML; without it, mails are plain text only')
    .action(async (app: string, kind: Kind, options: SetOptions) => {
      const { language, subjectLine: subject, textFile, htmlFile } = options;
      const text = await readBody('--text-file', textFile);
      const html = htmlFile === undefined ? '' : await readBody('--html-file', htmlFile);
      const template = { app, kind: MAIL_KINDS[kind], language, subject, text, html };
      const reply = await hub.mails.setMailTemplate(template);
      const view = templateView(reply.template);
      await out.record(view, TEMPLATE_FIELDS);
      const preview = `hubctl mail preview --app ${app} --kind ${kind} --language ${view.language}`;
      out.note(reply.changed ? `See a mail with: ${preview}` : 'The app had this template already.');
    });
}

export function addRemoveTemplateVerb(mail: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(mail, 'remove-template', {
    summary: 'remove a template of an app',
    description:
      'Removes a template of an app. Mails then use its template of a more general language, its English one, or the built-in one. Asks for confirmation; without a terminal it requires --yes.',
    examples: ['hubctl mail remove-template photo-lab license --language bn --yes'],
    prints: { document: REMOVED_TEMPLATE },
  })
    .argument('<app>', 'slug of the app')
    .addArgument(kindArgument())
    .addOption(languageOption('the language of the template').makeOptionMandatory())
    .addOption(yesOption())
    .action(async (app: string, kind: Kind, { language, yes }: { language: string; yes?: true }) => {
      const question = async () => `Remove the template ${kind} in ${language} of ${app}?`;
      await requireYes({ yes, verb: 'remove', question, otherwise: 'Nothing was removed.' });
      await hub.mails.removeMailTemplate({ app, kind: MAIL_KINDS[kind], language });
      const removed = { app, kind, language };
      await out.record(removed, [{ title: 'Removed', cell: () => `${kind} in ${language} of ${app}` }]);
    });
}

export function languageOption(description: string): Option {
  return new Option('--language <tag>', `language; ${description}`);
}

function kindArgument(): Argument {
  return new Argument('<kind>', 'license, renewal or seats').choices(Object.keys(MAIL_KINDS));
}

async function readBody(option: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error) => {
    throw usageError(`${option}: ${path} cannot be read (${error.code}).`);
  });
}
