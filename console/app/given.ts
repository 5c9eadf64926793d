// Requests without the fields that have no value.

/** The fields that are neither undefined nor empty. */
export function given<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): { [name in keyof T]?: Exclude<T[name], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(entries) as { [name in keyof T]?: Exclude<T[name], undefined> };
}
