// Error for a damaged backup, or a file that is not a backup. Its message says what to do.
export class UnreadableBackup extends Error {
  override readonly name = 'UnreadableBackup';
}

/** Text from a backup as an error message shows it: quoted, and cut where it is longer than a name can be. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
