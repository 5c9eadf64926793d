// The CSV file that issued keys are written to. It holds secrets: only its owner can read it.
import { unlink } from 'node:fs/promises';
import { csvLine } from './csv.ts';
import { openForResults } from './new-file.ts';
import { limitsText, seatsText } from './views/cells.ts';
import type { IssuedView } from './views/license.ts';

const HEADER = ['licenseId', 'licenseKey', 'app', 'seats', 'limitProfile', 'limits', 'customer', 'expiresAt'];

export type KeyFile = {
  /** Appends rows and waits until the disk has them: the hub will not show these keys again. */
  append(issued: readonly IssuedView[]): Promise<void>;
  /** Closes the file. One that was created here and got no row is removed, one that was there stays as it was. */
  close(): Promise<void>;
};

/**
 * Opens the file before the first key is issued, so that none is lost to a wrong path.
 *
 * @param force Whether a file that exists is overwritten; it is emptied by the first row, not before.
 * @throws CliError (usage) if the file exists and is not to be overwritten, or cannot be opened.
 */
export async function openKeyFile(path: string, force: boolean): Promise<KeyFile> {
  const { file, created } = await openForResults(path, force);
  let empty = true;
  return {
    append: async (issued) => {
      if (empty) {
        await file.chmod(0o600);
        await file.truncate();
        await file.write(csvLine(HEADER));
        empty = false;
      }
      await file.write(issued.map((item) => csvLine(cells(item))).join(''));
      await file.datasync();
    },
    close: async () => {
      await file.close();
      if (empty && created) await unlink(path);
    },
  };
}

function cells(item: IssuedView): string[] {
  return [
    item.licenseId,
    item.licenseKey,
    item.app,
    seatsText(item.seats),
    item.limitProfile ?? '',
    limitsText(item.limits, ';'),
    item.customer ?? '',
    item.expiresAt ?? '',
  ];
}
