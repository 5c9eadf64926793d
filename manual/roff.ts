// The manual as man pages: one of hubctl, and one of each noun. man(7) macros, which groff and mandoc read alike.
import { membersOf } from '../cli/manual.ts';
import { ABOUT_JSON, DESCRIPTION, EXIT_CODES, FILES, VARIABLES, WHICH_HUB } from '../cli/overview.ts';
import type { CommandPage, NounPage, Term } from './command-page.ts';

export type ManPages = {
  readonly nouns: readonly NounPage[];
  readonly globalOptions: readonly Term[];
  readonly version: string;
};

/** The pages by their file names. */
export function manPages({ nouns, globalOptions, version }: ManPages): Map<string, string> {
  const pages = new Map([['hubctl.1', overviewPage(nouns, globalOptions, version)]]);
  for (const noun of nouns) pages.set(`hubctl-${noun.name}.1`, nounPage(noun, version));
  return pages;
}

function overviewPage(nouns: readonly NounPage[], globalOptions: readonly Term[], version: string): string {
  const groups = [...new Set(nouns.map(({ group }) => group))];
  return lines(
    heading('HUBCTL', version),
    section('NAME'),
    `hubctl \\- ${prose('runs and administers a hub')}`,
    section('SYNOPSIS'),
    '.B hubctl',
    '.RI [ options ]',
    '.I noun verb',
    '.RI [ options "] [" arguments ]',
    section('DESCRIPTION'),
    prose(DESCRIPTION),
    ...groups.flatMap((group) => [
      `.SS ${escaped(group)}`,
      ...nouns
        .filter((noun) => noun.group === group)
        .flatMap(({ name, summary }) => ['.TP', `.BR hubctl\\-${escaped(name)} (1)`, prose(summary)]),
    ]),
    section('OPTIONS'),
    'They may stand anywhere on the line of any command.',
    ...terms(globalOptions),
    '.PP',
    prose(WHICH_HUB),
    section('JSON'),
    ...ABOUT_JSON.flatMap((text, index) => [...(index === 0 ? [] : ['.PP']), prose(text)]),
    section('EXIT STATUS'),
    ...terms(EXIT_CODES.map(([code, text]) => ({ term: String(code), text }))),
    section('ENVIRONMENT'),
    ...terms(VARIABLES.map(([term, text]) => ({ term, text }))),
    section('FILES'),
    ...terms(FILES.map(([term, text]) => ({ term, text }))),
  );
}

function nounPage({ name, summary, description, commands }: NounPage, version: string): string {
  const isOneWord = commands[0]?.path === `hubctl ${name}`;
  return lines(
    heading(`HUBCTL-${name.toUpperCase()}`, version),
    section('NAME'),
    `hubctl\\-${escaped(name)} \\- ${prose(summary)}`,
    section('SYNOPSIS'),
    ...commands.flatMap(({ usage }, index) => [...(index === 0 ? [] : ['.br']), `.B ${escaped(usage)}`]),
    section('DESCRIPTION'),
    prose(description),
    ...(isOneWord
      ? commands.flatMap((command) => rest(command))
      : [
          section('COMMANDS'),
          ...commands.flatMap((command) => [
            `.SS ${escaped(command.path)}`,
            prose(command.description),
            ...rest(command),
          ]),
        ]),
    section('SEE ALSO'),
    `.BR hubctl (1)`,
    'has the options of all commands, and says how the hub is found.',
  );
}

function rest({ notes, examples, prints, ...page }: CommandPage): string[] {
  const members = membersOf(prints);
  return [
    ...terms([...page.arguments, ...page.options]),
    ...notes.flatMap((note) => {
      const [, number, item] = /^(\d+\.) (.*)$/s.exec(note) ?? [];
      return number === undefined || item === undefined
        ? ['.PP', prose(note)]
        : [`.IP ${number} 4`, prose(item)];
    }),
    ...('other' in prints
      ? ['.PP', prose(`JSON: ${prints.other}`)]
      : ['.PP', prose(`JSON members: ${members.join(', ')}`)]),
    '.PP',
    examples.length === 1 ? 'Example:' : 'Examples:',
    '.PP',
    '.RS 4',
    '.nf',
    ...examples.map(escaped),
    '.fi',
    '.RE',
  ];
}

function terms(all: readonly Term[]): string[] {
  return all.flatMap(({ term, text }) => ['.TP', `.B ${escaped(term)}`, prose(text)]);
}

function heading(title: string, version: string): string {
  return `.\\" written by npm run gen\n.TH ${title} 1 "" "hubctl ${version}" "hubctl"`;
}

function section(name: string): string {
  return `.SH ${name}`;
}

function lines(...parts: readonly string[]): string {
  return `${parts.join('\n')}\n`;
}

/** Lines of at most 80 characters, as a reader of the source expects. What stands between backquotes is shown bold. */
function prose(text: string): string {
  const marked = text
    .split(/`([^`]*)`/)
    .map((part, index) => (index % 2 === 1 ? `\\fB${escaped(part)}\\fR` : escaped(part)))
    .join('');
  return marked
    .replace(/(.{1,78})(?: |$)/g, '$1\n')
    .trimEnd()
    .replace(/^[.']/gm, '\\&$&');
}

/** Text in which nothing is an escape; a minus stays one, so that it can be pasted. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('…', '...');
}
