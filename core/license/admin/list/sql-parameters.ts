// The parameters of a statement that is built from conditions, and the types of its pieces.

/** A piece of a statement. It never contains a value of a request. */
export type Sql = string;

/** Adds a parameter, and returns its place: `$1`. */
export type Bind = (value: unknown) => Sql;

export function createBinder(): { readonly bind: Bind; readonly values: unknown[] } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

export const NOTHING: Sql = 'false';
