// Objects without the members that have no value.

/** The members that are neither undefined nor empty texts. */
export function given<T extends Readonly<Record<string, unknown>>>(members: T): Given<T> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(entries) as Given<T>;
}

type Given<T> = { [name in keyof T]?: Exclude<T[name], undefined> };
