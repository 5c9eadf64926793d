// Writes the table of settings into docs/reference/settings.md. `npm run gen` runs it.
import { readFileSync, writeFileSync } from 'node:fs';
import { SETTINGS, type Setting } from '../cli/settings.ts';

const PAGE = new URL('reference/settings.md', import.meta.url);
const [BEGIN, END] = ['<!-- settings: written by npm run gen -->\n', '\n<!-- end of settings -->'];

const [before, rest] = readFileSync(PAGE, 'utf8').split(BEGIN);
const [, after] = rest?.split(END) ?? [];
if (before === undefined || after === undefined)
  throw new Error(`${PAGE.pathname} has no place for the table`);
const head = '| variable | flag | default | |\n|---|---|---|---|';
writeFileSync(PAGE, `${before}${BEGIN}\n${head}\n${SETTINGS.map(rowOf).join('\n')}\n${END}${after}`);

function rowOf({ env, flag, fallback, description }: Setting): string {
  const cells = [
    code(env),
    flag === undefined ? '' : code(`--${flag}`),
    fallback ? code(fallback) : '',
    description,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
