// Writes an export to a file, and empties an existing file only once there is output, or the export has none.

import type { CommandContext } from '../command-context.ts';
import { PartialFailure } from '../errors/failure.ts';
import { untilInterrupted } from '../interrupt/interruption.ts';
import * as json from '../views/schema.ts';
import { openForResults } from './new-file.ts';
import { printableJson } from './printable.ts';

const EXPORTED = json.object('Exported', {
  file: json.text('the file'),
  exported: json.integer('how many entries it has'),
});

/** What a command with `--out` prints. @param what The items: `the licenses` */
export function itemsOrExport(items: json.TypedSchema, what: string): json.TypedSchema {
  return json.either([items, EXPORTED], `${what}; with --out one object that names the file`);
}

/** The text of an item with its line end, and the text before the first item. */
export type Lines<T> = { readonly line: (item: T) => string; readonly header?: string };

export const JSON_LINES: Lines<object> = { line: (item) => `${printableJson(item)}\n` };

type Exported = Pick<CommandContext, 'progress' | 'out' | 'streams' | 'interruption'>;
type FileOptions = { readonly out?: string | undefined; readonly force?: true | undefined };

/**
 * Writes the items page by page to standard output, or to the file of `--out`. The first write empties an existing
 * file; an export without items also writes. A created file is removed if the export fails before it writes. A signal
 * ends an export to a file between two pages.
 * @throws CliError (usage) if the file cannot be written; PartialFailure after the first write
 */
export async function exportLines<T>(
  commandContext: Exported,
  { out: path, force }: FileOptions,
  pages: AsyncIterable<readonly T[]>,
  lines: Lines<T>,
): Promise<void> {
  const { out, streams, interruption, progress } = commandContext;
  if (path === undefined) {
    await writeLines(pages, lines, out.text);
    return;
  }
  let written: number | undefined;
  const sofar = (): string =>
    written === undefined
      ? `Nothing was written to ${path}.`
      : `${path} has the first ${written} entries only.`;
  interruption.hold(sofar);
  const file = await openForResults({ path, force: force === true, streams, interruption });
  const line = progress.show(() => `Exported ${written ?? 0}`);
  let exported: number;
  try {
    const found = untilInterrupted(pages, interruption, () => (written === undefined ? sofar() : ''));
    exported = await writeLines(found, lines, async (text, count) => {
      written ??= 0; // the file has been replaced from here on
      await file.write(text);
      written = count;
    });
  } catch (error) {
    if (written === undefined) throw error;
    throw new PartialFailure(sofar(), error);
  } finally {
    line.end();
    await file.close();
  }
  if (file.isStandardOutput) return out.note(`Entries exported: ${exported}`);
  await out.record({ file: path, exported }, [
    { title: 'Written to', cell: (item) => item.file },
    { title: 'Entries', cell: (item) => item.exported },
  ]);
}

/** @param write Writes a page; `count` is the number of items with it. Without a page, it writes the header. */
async function writeLines<T>(
  pages: AsyncIterable<readonly T[]>,
  { line, header = '' }: Lines<T>,
  write: (text: string, count: number) => Promise<void>,
): Promise<number> {
  let before: string | undefined = header;
  let count = 0;
  for await (const items of pages) {
    count += items.length;
    await write((before ?? '') + items.map(line).join(''), count);
    before = undefined;
  }
  if (before !== undefined) await write(before, count);
  return count;
}
