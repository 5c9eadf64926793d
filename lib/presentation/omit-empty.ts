// Omits the members of an object that have no value.

/** Returns the members that are neither undefined nor empty texts. */
export function omitEmpty<T extends Readonly<Record<string, unknown>>>(members: T): NonEmpty<T> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(entries) as NonEmpty<T>;
}

type NonEmpty<T> = { [name in keyof T]?: Exclude<T[name], undefined> };
