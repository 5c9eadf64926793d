// Writes issued license keys to a CSV file that only its owner can read.
import { type CsvColumns, csv, csvLine, csvLines } from '../output/csv.ts';
import { openForResults, type ResultsFileOptions } from '../output/new-file.ts';
import { limitsText, seatsText } from '../views/cells.ts';
import type { IssuedView } from '../views/licensing/license.ts';

const COLUMNS: CsvColumns<IssuedView> = {
  ...csv<IssuedView>('licenseId', 'licenseKey', 'app'),
  seats: (item) => seatsText(item.seats),
  ...csv<IssuedView>('limitProfile'),
  limits: (item) => limitsText(item.limits, ';'),
  ...csv<IssuedView>('customer', 'expiresAt'),
};

/**
 * Opens the file before the first key is issued, and writes its header unless that overwrites content. This
 * finds a wrong path, a full disk or a closed pipe in time.
 * @param keys The number of keys to write, and their app.
 * @throws CliError (usage) if the file exists and may not be overwritten, or cannot be written.
 */
export async function openKeyFile(
  options: Omit<ResultsFileOptions, 'head' | 'bytes' | 'secret'>,
  { app, count }: { readonly app: string; readonly count: number },
) {
  const shortest = csvLine([LICENSE_ID, LICENSE_KEY, app, '1', '', '', '', '']);
  const bytes = count * Buffer.byteLength(shortest);
  const file = await openForResults({ ...options, head: csvLine(Object.keys(COLUMNS)), bytes, secret: true });
  const { line } = csvLines(COLUMNS);
  return {
    isStandardOutput: file.isStandardOutput,
    /** Appends rows and waits until the disk has them. */
    append: (issued: readonly IssuedView[]) => file.write(issued.map(line).join('')),
    close: () => file.close(),
  };
}

/** Placeholders with the length of the real values. */
const LICENSE_ID = `lic_${'0'.repeat(26)}`;
const LICENSE_KEY = '0'.repeat(29);
