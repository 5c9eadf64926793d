// Writes the table of settings into docs/reference/settings.md.
import { SETTINGS, type Setting } from '../../cli/serve/setting-table.ts';
import { markdownTable } from './markdown-table.ts';
import { replaceSection } from './replace-section.ts';

const PAGE = new URL('../../docs/reference/settings.md', import.meta.url);
const MARKS = ['<!-- settings: written by npm run gen -->', '<!-- end of settings -->'] as const;

replaceSection(PAGE, MARKS, markdownTable(['variable', 'flag', 'default', ''], SETTINGS.map(rowOf)));

function rowOf({ env, flag, fallback, description }: Setting): string[] {
  return [
    code(env),
    flag === undefined ? '' : code(`--${flag}`),
    fallback ? code(fallback) : '',
    description,
  ];
}

function code(text: string): string {
  return `\`${text}\``;
}
