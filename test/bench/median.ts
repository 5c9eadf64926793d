// Reduces the values of several rounds to one.

/** For an even number of values: the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] ?? Number.NaN) + (sorted[Math.ceil(half)] ?? Number.NaN)) / 2;
}

/** For an even number of items: the lower one of the two in the middle. */
export function medianItem<T>(items: readonly T[], by: (item: T) => number): T {
  const sorted = [...items].sort((one, other) => by(one) - by(other));
  return sorted[Math.floor((sorted.length - 1) / 2)] as T; // the list is never empty
}
