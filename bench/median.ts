// What stands for several rounds.

export function median(values: readonly number[]): number {
  return middle(values, (value) => value);
}

/** Of an even number, the lower one in the middle. */
export function middle<T>(items: readonly T[], by: (item: T) => number): T {
  const sorted = [...items].sort((one, other) => by(one) - by(other));
  return sorted[Math.floor((sorted.length - 1) / 2)] as T; // there is at least one
}
