// Replaces the generated section of a Markdown page.
import { readFileSync, writeFileSync } from 'node:fs';

/** @throws Error if the page lacks one of the two comments around the section */
export function replaceSection(
  page: URL,
  [begin, end]: readonly [begin: string, end: string],
  text: string,
): void {
  const [before, rest] = readFileSync(page, 'utf8').split(`${begin}\n`);
  const [, after] = rest?.split(`\n${end}`) ?? [];
  if (before === undefined || after === undefined)
    throw new Error(`${page.pathname} lacks ${begin} or ${end}`);
  writeFileSync(page, `${before}${begin}\n\n${text}\n\n${end}${after}`);
}
