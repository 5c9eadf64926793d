// The manual as a Markdown page.
import { ABOUT_JSON, DESCRIPTION, EXIT_CODES, FILES, VARIABLES, WHICH_HUB } from '../cli/overview.ts';
import type { CommandPage, NounPage, Term } from './command-page.ts';
import { type JsonObject, typeOf } from './json-objects.ts';

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
    'How to work with it, in scripts too, tells [scripting.md](scripting.md). `hubctl help` and `man hubctl` say the same as this page.',
    ...groups.flatMap((group) => [
      `**${group}**`,
      table(
        ['', ''],
        nouns
          .filter((noun) => noun.group === group)
          .map(({ name, summary }) => [`[\`hubctl ${name}\`](#hubctl-${name})`, prose(summary)]),
      ),
    ]),
    '## Options of all commands',
    'They may stand anywhere on the line.',
    terms(globalOptions),
    prose(WHICH_HUB),
    '## Environment',
    table(
      ['', ''],
      VARIABLES.map(([name, text]) => [`\`${name}\``, prose(text)]),
    ),
    'The variables of the options are named with them; those of a hub are in [settings](reference/settings.md).',
    '## Files',
    table(
      ['', ''],
      FILES.map(([path, text]) => [`\`${path}\``, prose(text)]),
    ),
    '## Exit codes',
    table(
      ['', ''],
      EXIT_CODES.map(([code, text]) => [`${code}`, prose(text)]),
    ),
    '## JSON',
    ...ABOUT_JSON.map(prose),
    `The error is an [Error](#error). What a command prints, is told with it; the objects are [below](#objects).`,
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
    ...(page.arguments.length > 0 ? [table(['argument', ''], page.arguments.map(row))] : []),
    ...(page.options.length > 0 ? [terms(page.options)] : []),
    ...page.notes.map(prose),
    `JSON: ${printed(page.prints)}`,
    `\`\`\`sh\n${page.examples.join('\n')}\n\`\`\``,
  ];
}

function printed(prints: CommandPage['prints']): string {
  if ('other' in prints) return prints.other;
  const schema = 'lines' in prints ? prints.lines : prints.document;
  const type = typeOf(schema);
  const said =
    schema.description === undefined || schema.title !== undefined ? '' : `: ${prose(schema.description)}`;
  return 'lines' in prints ? `lines, each ${type}${said}` : `${type}${said}`;
}

function objectSection({ title, members }: JsonObject): string {
  const rows = members.map(({ name, type, meaning }) => [`\`${name}\``, type, prose(meaning)]);
  return `### ${title}\n\n${table(['member', 'type', ''], rows)}`;
}

function terms(options: readonly Term[]): string {
  return table(['option', ''], options.map(row));
}

function row({ term, text }: Term): string[] {
  return [`\`${term}\``, prose(text)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** Text that is no markup: what stands between backquotes is code already. */
function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/[<>*[\]]|(?<!\w)_|_(?!\w)/g, '\\$&')))
    .join('');
}
