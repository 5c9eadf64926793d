// Writes an export to a new file, or in the place of an old one once there is something to write.
import { PartialFailure } from './failure.ts';
import { untilInterrupted } from './interruption.ts';
import { openForResults } from './new-file.ts';
import { integer, object, text } from './shapes.ts';
import type { Tools } from './tools.ts';

/** What is printed of an export that went to a file. */
export const EXPORTED = object('Exported', {
  file: text('the file'),
  exported: integer('how many entries it has'),
});

/** Writes a piece of text; `count` says how many entries there are by then. */
export type WriteEntries = (text: string, count: number) => Promise<void>;

export type ExportFile = { readonly path: string; readonly force: boolean };

/**
 * A file that was there is emptied by the first piece, not before; one made for nothing is removed. Prints how many
 * entries `run` says there were. A signal ends it between two of the `pages`.
 *
 * @throws CliError (usage) if the file may not be written; PartialFailure if `run` failed after the first piece
 */
export async function exportToFile<Page>(
  { progress, out, streams, interruption }: Pick<Tools, 'progress' | 'out' | 'streams' | 'interruption'>,
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
      written ??= 0; // from here on the file is another
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
