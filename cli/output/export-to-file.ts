// Writes an export to a file, and empties an existing file only once there is output.

import type { CommandContext } from '../command-context.ts';
import { PartialFailure } from '../errors/failure.ts';
import { untilInterrupted } from '../interrupt/interruption.ts';
import * as json from '../views/schema.ts';
import { openForResults } from './new-file.ts';

/** Result printed after an export to a file. */
export const EXPORTED = json.object('Exported', {
  file: json.text('the file'),
  exported: json.integer('how many entries it has'),
});

/** Writes a text; `count` is the number of entries written so far. */
export type WriteEntries = (text: string, count: number) => Promise<void>;

export type ExportFile = { readonly path: string; readonly force: boolean };

/**
 * Runs an export into a file. The first write empties an existing file; a created file without output is
 * removed. `run` returns the number of entries, which is printed. A signal ends the export between two
 * `pages`.
 * @throws CliError (usage) if the file cannot be written; PartialFailure if `run` failed after the first
 * write
 */
export async function exportToFile<Page>(
  {
    progress,
    out,
    streams,
    interruption,
  }: Pick<CommandContext, 'progress' | 'out' | 'streams' | 'interruption'>,
  { path, force }: ExportFile,
  pages: AsyncIterable<Page>,
  run: (pages: AsyncIterable<Page>, write: WriteEntries) => Promise<number>,
): Promise<void> {
  let written: number | undefined;
  const sofar = (): string =>
    written === undefined
      ? `Nothing was written to ${path}.`
      : `${path} has the first ${written} entries only.`;
  interruption.hold(sofar);
  const file = await openForResults({ path, force, streams, interruption });
  const line = progress.show(() => `Exported ${written ?? 0}`);
  let exported: number;
  try {
    const found = untilInterrupted(pages, interruption, () => (written === undefined ? sofar() : ''));
    exported = await run(found, async (text, count) => {
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
