/** The index of the first item that `isReached`, by binary search; the length if there is none. Later items are reached too. */
export function firstIndex<T>(items: readonly T[], isReached: (item: T) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isReached(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
