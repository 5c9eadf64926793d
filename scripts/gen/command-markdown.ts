// Formats docs/hubctl.md.
import { schemaOf } from '../../cli/command-help.ts';
import { ABOUT_JSON, DESCRIPTION, EXIT_CODES, FILES, VARIABLES, WHICH_HUB } from '../../cli/overview.ts';
import type { CommandPage, NounPage, Term } from './command-page.ts';
import { type JsonObject, typeOf } from './json-objects.ts';
import { markdownTable } from './markdown-table.ts';

export type Manual = {
  readonly nouns: readonly NounPage[];
  readonly globalOptions: readonly Term[];
  readonly objects: readonly JsonObject[];
};

export function markdown({ nouns, globalOptions, objects }: Manual): string {
  const groups = [...new Set(nouns.map(({ group }) => group))];
  return `${[
    '<!-- written by npm run gen -->',
    '# hubctl',
    DESCRIPTION,
    '[Working with hubctl](scripting.md) explains contexts, output and scripts. `hubctl help` prints the same as this page.',
    ...groups.flatMap((group) => [
      `**${group}**`,
      markdownTable(
        ['', ''],
        nouns
          .filter((noun) => noun.group === group)
          .map(({ name, summary }) => [`[\`hubctl ${name}\`](#hubctl-${name})`, prose(summary)]),
      ),
    ]),
    '## Options of all commands',
    'They may stand anywhere on the command line.',
    terms(globalOptions),
    prose(WHICH_HUB),
    '## Environment',
    markdownTable(
      ['', ''],
      VARIABLES.map(([name, text]) => [`\`${name}\``, prose(text)]),
    ),
    'Each option names its variable. [Settings](reference/settings.md) lists the variables of a hub.',
    '## Files',
    markdownTable(
      ['', ''],
      FILES.map(([path, text]) => [`\`${path}\``, prose(text)]),
    ),
    '## Exit codes',
    markdownTable(
      ['', ''],
      EXIT_CODES.map(([code, text]) => [`${code}`, prose(text)]),
    ),
    '## JSON',
    ...ABOUT_JSON.map(prose),
    `An error is an [Error](#error). Each command says what it prints; [objects](#objects) lists the members.`,
    '# Commands',
    ...nouns.map(nounSection),
    '# Objects',
    ...objects.map(objectSection),
  ].join('\n\n')}\n`;
}

function nounSection({ name, description, commands }: NounPage): string {
  const [first] = commands;
  if (first?.path === `hubctl ${name}`) return [`## hubctl ${name}`, ...commandParts(first)].join('\n\n');
  const verbs = commands.map((command) => [`### ${command.path}`, ...commandParts(command)].join('\n\n'));
  return [`## hubctl ${name}`, prose(description), ...verbs].join('\n\n');
}

function commandParts({ usage, description, ...page }: CommandPage): string[] {
  return [
    prose(description),
    `\`\`\`\n${usage}\n\`\`\``,
    ...(page.arguments.length > 0 ? [markdownTable(['argument', ''], page.arguments.map(row))] : []),
    ...(page.options.length > 0 ? [terms(page.options)] : []),
    ...page.notes.map(prose),
    `JSON: ${printed(page.prints)}`,
    `\`\`\`sh\n${page.examples.join('\n')}\n\`\`\``,
  ];
}

function printed(prints: CommandPage['prints']): string {
  if ('other' in prints) return prints.other;
  const schema = schemaOf(prints);
  const type = typeOf(schema);
  const said =
    schema.description === undefined || schema.title !== undefined ? '' : `: ${prose(schema.description)}`;
  return 'lines' in prints ? `lines, each ${type}${said}` : `${type}${said}`;
}

function objectSection({ title, members }: JsonObject): string {
  const rows = members.map(({ name, type, meaning }) => [`\`${name}\``, type, prose(meaning)]);
  return `### ${title}\n\n${markdownTable(['member', 'type', ''], rows)}`;
}

function terms(options: readonly Term[]): string {
  return markdownTable(['option', ''], options.map(row));
}

function row({ term, text }: Term): string[] {
  return [`\`${term}\``, prose(text)];
}

/** Escapes Markdown, except in code between backquotes. */
function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/[<>*[\]]|(?<!\w)_|_(?!\w)/g, '\\$&')))
    .join('');
}
