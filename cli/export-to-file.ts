// Writes an export to a new file, or in the place of an old one once there is something to write.
import { unlink } from 'node:fs/promises';
import { PartialFailure } from './failure.ts';
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
 * entries `run` says there were.
 *
 * @throws CliError (usage) if the file may not be written; PartialFailure if `run` failed after the first piece
 */
export async function exportToFile(
  { progress, out }: Pick<Tools, 'progress' | 'out'>,
  { path, force }: ExportFile,
  run: (write: WriteEntries) => Promise<number>,
): Promise<void> {
  const { file, created } = await openForResults(path, force);
  let written: number | undefined;
  const line = progress.show(() => `Exported ${written ?? 0}`);
  let exported: number;
  try {
    exported = await run(async (text, count) => {
      if (written === undefined) await file.truncate();
      await file.appendFile(text);
      written = count;
    });
  } catch (error) {
    if (written === undefined) throw error;
    throw new PartialFailure(`${path} has the first ${written} entries only.`, error);
  } finally {
    line.end();
    await file.close();
    if (written === undefined && created) await unlink(path);
  }
  await out.record({ file: path, exported }, [
    { title: 'Written to', cell: (item) => item.file },
    { title: 'Entries', cell: (item) => item.exported },
  ]);
}
