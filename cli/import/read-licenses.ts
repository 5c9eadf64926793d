// Turns the rows of a table into licenses, by the columns' names, a profile and the mappings of the command line.
import { usageError } from '../errors/failure.ts';
import { CellError, FIELD_NAMES, fieldFor, type LicenseFields, plain } from './fields.ts';
import type { ColumnRule, Profile } from './profiles/profile.ts';
import type { Table } from './read-table.ts';

export type LineError = { readonly line: number; readonly field: string; readonly message: string };

export type FileLicense = LicenseFields & { readonly line: number };

export type ReadResult = { readonly licenses: readonly FileLicense[]; readonly errors: readonly LineError[] };

/** Stands for "ignore this column". */
export const IGNORED = '-';

/**
 * @param mapped Fields by column, which come before the names and the profile
 * @throws CliError (usage) for a column that is neither known nor mapped, or without a column of the keys
 */
export function readLicenses(
  { header, rows }: Table,
  { profile, mapped }: { profile: Profile | undefined; mapped: Readonly<Record<string, string>> },
): ReadResult {
  const columns = resolveColumns(header, profile, mapped);
  if (!columns.some(({ field }) => field === 'licenseKey')) {
    throw usageError('No column has the license keys. Name it licenseKey, or add --map COLUMN=licenseKey.');
  }
  const licenses: FileLicense[] = [];
  const errors: LineError[] = [];
  for (const { line, cells } of rows) {
    const license: FileLicense = { line };
    for (const { place, field, read, convert } of columns) {
      const cell = convert(cells[place] ?? '');
      if (cell === '') continue;
      try {
        Object.assign(license, read(cell, license));
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        errors.push({ line, field, message: error.message });
      }
    }
    licenses.push(license);
  }
  return { licenses, errors };
}

type Column = {
  readonly place: number;
  readonly name: string;
  readonly field: string;
  readonly read: NonNullable<ReturnType<typeof fieldFor>>;
  readonly convert: (cell: string) => string;
};

function resolveColumns(
  header: readonly string[],
  profile: Profile | undefined,
  mapped: Readonly<Record<string, string>>,
): Column[] {
  const mappings = new Map(Object.entries(mapped).map(([column, field]) => [plain(column), field]));
  for (const column of Object.keys(mapped)) {
    if (!header.some((each) => plain(each) === plain(column))) {
      const known = header.join(', ');
      throw usageError(`--map: the file has no column "${column}". Its columns are ${known}.`);
    }
  }
  const unknown: string[] = [];
  const columns = header.flatMap((name, place): Column[] => {
    const rule = ruleFor(name, profile, mappings.get(plain(name)));
    if (rule === undefined) {
      if (profile === undefined && name !== '') unknown.push(name);
      return [];
    }
    if (rule.field === IGNORED) return [];
    const read = fieldFor(rule.field);
    if (read === undefined) throw usageError(`--map: there is no field ${rule.field}. ${KNOWN}`);
    return [{ place, name, field: rule.field, read, convert: rule.convert ?? ((cell) => cell) }];
  });
  if (unknown.length > 0) {
    const names = unknown.map((name) => `"${name}"`).join(', ');
    const example = `--map "${unknown[0]}=metadata.NAME", or "${unknown[0]}=${IGNORED}" to ignore it`;
    throw usageError(`The file has columns that the hub does not know: ${names}. Add ${example}. ${KNOWN}`);
  }
  // A profile may have several columns for a field.
  if (profile === undefined) requireOneColumnEach(columns);
  return columns;
}

/** The values of several columns are combined. */
const COMBINED: readonly string[] = ['features', 'limits', 'revoked'];

/** @throws CliError (usage) if two columns set the same field: the later one would win */
function requireOneColumnEach(columns: readonly Column[]): void {
  for (const [index, { name, field }] of columns.entries()) {
    const other = columns.slice(0, index).find((each) => each.field === field);
    if (other === undefined || COMBINED.includes(field)) continue;
    throw usageError(
      `The columns "${other.name}" and "${name}" both set ${field}. Rename one, or ignore it: --map COLUMN=-.`,
    );
  }
}

function ruleFor(
  name: string,
  profile: Profile | undefined,
  mapping: string | undefined,
): ColumnRule | undefined {
  const ofProfile = profile && profileRule(name, profile);
  // A mapping to the same field keeps the profile's conversion.
  if (mapping !== undefined) return ofProfile?.field === mapping ? ofProfile : { field: mapping };
  if (profile !== undefined) return ofProfile;
  const known = FIELD_NAMES.find((field) => fieldFor(name) === fieldFor(field));
  if (known !== undefined) return { field: known };
  return fieldFor(name) && { field: name };
}

function profileRule(name: string, { columns }: Profile): ColumnRule | undefined {
  const column = name.toLowerCase();
  if (Object.hasOwn(columns, column)) return columns[column];
  const [, metadata] = /^(?:attributes\.)?metadata\.(.+)$/i.exec(name) ?? [];
  return metadata === undefined ? undefined : { field: `metadata.${metadata}` };
}

const KNOWN = `The fields are ${FIELD_NAMES.join(', ')}, metadata.NAME and limits.NAME.`;
