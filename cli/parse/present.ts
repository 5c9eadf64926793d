// Leaves out what the command line does not give.

/** The members that have a value. */
export function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { [K in keyof T]?: Exclude<T[K], undefined> }; // the same members
}
