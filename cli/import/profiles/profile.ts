// What a profile of another system says: which of its columns set which fields.

export type Profile = {
  /** The system, as its vendor writes it. */
  readonly title: string;
  /** By column in lower case, or by a path of the system's JSON. A column that is not here is ignored. */
  readonly columns: Readonly<Record<string, ColumnRule>>;
};

export type ColumnRule = {
  /** A field of an import, such as `seats` or `metadata.plan`. */
  readonly field: string;
  /** Converts a cell, which may be empty; the result may be empty for no value. */
  readonly convert?: (cell: string) => string;
};

/** Text on one line: line breaks become spaces. */
export function onOneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ');
}
