// Defines partial indexes.

/** An index, or a unique key, of the rows that satisfy a condition. */
export const partial = <const P extends string>(name: string, properties: P[], where: string) => ({
  name,
  properties,
  where,
});
