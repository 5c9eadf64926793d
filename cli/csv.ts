// Lines of a CSV file (RFC 4180) that a spreadsheet takes for text, never for a formula.

/** One record with its line end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * Quotes a cell where RFC 4180 asks for it. A cell that a spreadsheet would run as a formula (it begins with
 * `=`, `+`, `-`, `@`, a tab or a carriage return) gets a leading apostrophe, which spreadsheets read as "text". A
 * negative number is no formula: amounts have to stay numbers, so that they add up.
 */
function csvCell(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-\d+(\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
