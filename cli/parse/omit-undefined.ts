// Omits the members that a command line does not set.

export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { [K in keyof T]?: Exclude<T[K], undefined> }; // the same members
}
