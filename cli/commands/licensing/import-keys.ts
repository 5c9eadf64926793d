// Imports the licenses of a file: reads it, sends it to the hub in pieces, and reports the errors by line.
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer as readAll } from 'node:stream/consumers';
import { create, toBinary } from '@bufbuild/protobuf';
import {
  ImportedLicenseSchema,
  type ImportLicensesResponse,
} from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { NO_DEADLINE } from '../../connect/calls.ts';
import { CliError, EXIT, usageError } from '../../errors/failure.ts';
import { columnOf } from '../../import/fields.ts';
import { PROFILES } from '../../import/profiles/profiles.ts';
import { type FileLicense, type LineError, readLicenses } from '../../import/read-licenses.ts';
import { readTable } from '../../import/read-table.ts';
import { bar } from '../../output/progress.ts';
import type { Column } from '../../output/table.ts';
import type { ImportOptions } from './import-result.ts';

type Result = {
  readonly imported: number;
  readonly customersCreated: number;
  readonly errors: readonly LineError[];
};

const ERROR_COLUMNS: readonly Column<LineError>[] = [
  { title: 'LINE', cell: ({ line }) => line, right: true },
  { title: 'COLUMN', cell: ({ field }) => field },
  { title: 'PROBLEM', cell: ({ message }) => message },
];

const MAX_ERRORS = 1_000;

export async function importKeys(
  commandContext: CommandContext,
  path: string,
  options: ImportOptions,
): Promise<void> {
  const { out } = commandContext;
  const from = path === '-' ? 'standard input' : path;
  const profile = options.source && PROFILES[options.source];
  const table = readTable(decode(await readInput(commandContext, path), from), from);
  const { licenses, errors } = readLicenses(table, { profile, mapped: options.map ?? {} });
  // With errors of its own, the file is only checked for more.
  const dryRun = options.dryRun === true || errors.length > 0;
  const response = await send(commandContext, licenses, { ...options, dryRun });
  const result = combine(response, errors, options.allowShort === true);
  if (out.json()) await out.record(result, []);
  else if (result.errors.length > 0) await out.list([result.errors], ERROR_COLUMNS);
  if (result.errors.length > 0) {
    const lines = new Set(result.errors.map(({ line }) => line)).size;
    const many = result.errors.length === MAX_ERRORS ? 'At least ' : '';
    const message = `${many}${lines} of ${licenses.length} lines cannot be imported; nothing was imported.`;
    throw new CliError('import_refused', EXIT.failed, message);
  }
  if (!out.json()) await out.record(result, resultFields(options.dryRun === true));
}

function resultFields(dryRun: boolean): readonly Column<Result>[] {
  return [
    { title: dryRun ? 'Licenses to import' : 'Licenses imported', cell: ({ imported }) => imported },
    {
      title: dryRun ? 'Customers to create' : 'Customers created',
      cell: ({ customersCreated }) => customersCreated,
    },
  ];
}

async function readInput({ streams }: CommandContext, path: string): Promise<Buffer> {
  if (path === '-') return readAll(streams.stdin);
  return readFile(path).catch((error) => {
    throw usageError(`${path} cannot be read (${error.code}).`);
  });
}

/** Other encodings would import names with replacement characters. */
function decode(bytes: Buffer, from: string): string {
  if (isUtf8(bytes)) return bytes.toString();
  // A line feed is never a part of another character in UTF-8.
  const lines = bytes.toString('latin1').split('\n');
  const line = lines.findIndex((each) => !isUtf8(Buffer.from(each, 'latin1'))) + 1;
  throw usageError(`${from}, line ${line}: this is not UTF-8. Save the file as UTF-8.`);
}

/** A message of the stream is at most this large, which the hub accepts. */
const MESSAGE_BYTES = 256 * 1024;
const MESSAGE_LICENSES = 500;

async function send(
  commandContext: CommandContext,
  licenses: readonly FileLicense[],
  { app, allowShort = false, dryRun }: { app: string; allowShort?: boolean; dryRun: boolean },
): Promise<ImportLicensesResponse> {
  let sent = 0;
  const progress = commandContext.progress.show(() =>
    sent < licenses.length ? bar('Importing', sent, licenses.length) : 'Waiting for the hub',
  );
  async function* messages() {
    yield { app, allowShort, dryRun, licenses: [] };
    let batch: FileLicense[] = [];
    let bytes = 0;
    for (const license of licenses) {
      const size = toBinary(ImportedLicenseSchema, create(ImportedLicenseSchema, license)).length;
      if (batch.length === MESSAGE_LICENSES || (batch.length > 0 && bytes + size > MESSAGE_BYTES)) {
        yield { app, licenses: batch };
        sent += batch.length;
        [batch, bytes] = [[], 0];
      }
      batch.push(license);
      bytes += size;
    }
    if (batch.length > 0) yield { app, licenses: batch };
    sent = licenses.length;
  }
  try {
    return await commandContext.hub.admin.importLicenses(messages(), NO_DEADLINE);
  } finally {
    progress.end();
  }
}

/** The errors of the file and those of the hub by line, with the columns of the file as fields. */
function combine(
  { imported, customersCreated, errors }: ImportLicensesResponse,
  own: readonly LineError[],
  allowShort: boolean,
): Result {
  const ofHub = errors.map(({ line, field, message }) => {
    const isShort = !allowShort && message.includes('allow short keys');
    return { line, field: columnOf(field), message: isShort ? `${message} (--allow-short)` : message };
  });
  const all = [...own, ...ofHub].toSorted((one, other) => one.line - other.line).slice(0, MAX_ERRORS);
  if (all.length > 0) return { imported: 0, customersCreated: 0, errors: all };
  return { imported, customersCreated, errors: [] };
}
