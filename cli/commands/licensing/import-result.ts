// The options and the printed result of an import.
import type { ProfileName } from '../../import/profiles/profiles.ts';
import * as json from '../../views/schema.ts';

export type ImportOptions = {
  readonly app: string;
  readonly source?: ProfileName;
  readonly map?: Record<string, string>;
  readonly allowShort?: true;
  readonly dryRun?: true;
};

const IMPORT_ERROR = json.object('ImportError', {
  line: json.integer('line of the file, or place in the array of a JSON file'),
  field: json.text('the column at fault'),
  message: json.text('what is wrong with it'),
});

export const IMPORT_RESULT = json.object('ImportResult', {
  imported: json.integer('number of imported licenses; with --dry-run, the number that would be imported'),
  customersCreated: json.integer('number of customers that were created, or would be'),
  errors: json.list(
    IMPORT_ERROR,
    'the lines that cannot be imported, at most 1000; with any, nothing is imported',
  ),
});
