// Time spans in ascending order, without gaps, and sums over them.

export type Span = { readonly begin: number; readonly end: number };

/** The spans that overlap the time from `begin` to `end`, each with the length of the overlap. */
export function* overlaps<T extends Span>(
  spans: readonly T[],
  begin: number,
  end: number,
): Generator<readonly [span: T, length: number]> {
  for (let index = firstAfter(begin, spans); index < spans.length; index++) {
    const span = spans[index];
    if (span === undefined || span.begin >= end) break;
    yield [span, Math.min(end, span.end) - Math.max(begin, span.begin)];
  }
}

/** The index of the first span that ends after `begin`, by binary search. */
function firstAfter(begin: number, spans: readonly Span[]): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle]?.end ?? 0) > begin) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function add<Key>(to: Map<Key, number>, key: Key, number: number): void {
  to.set(key, (to.get(key) ?? 0) + number);
}
