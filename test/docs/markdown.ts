// Reads what a test needs out of a Markdown page: fenced blocks and tables.
import { readFileSync } from 'node:fs';

export const ROOT = new URL('../../', import.meta.url);

export function readPage(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The contents of the fenced blocks of a language, in order. */
export function fencedBlocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, block = '']) => block,
  );
}

/** The cells of all table rows whose first cell is code, without the backquotes of that one. */
export function codeRows(page: string): string[][] {
  return page
    .split('\n')
    .filter((line) => /^\| `/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .map(([first = '', ...rest]) => [first.replaceAll('`', ''), ...rest]);
}
