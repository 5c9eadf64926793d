// Error for a damaged backup, or a file that is not a backup. Its message says what to do.
export class UnreadableBackup extends Error {
  override readonly name = 'UnreadableBackup';
}

/** Quotes a value of a backup for an error message, and truncates a long one. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
