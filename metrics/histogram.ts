// How values are spread: how many were at most so much. To note one is a few comparisons and two additions.
import { createChildren, type LabelValues } from './children.ts';
import type { Sample } from './family.ts';

export class Spread {
  readonly #bounds: readonly number[];
  /** By the first bound that is not exceeded; the last one is of what exceeds them all. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  note(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }
}

export type Histogram<L extends readonly string[]> = { of(...values: LabelValues<L>): Spread };

/** `bounds` rise; what is larger than all of them is counted as well. */
export function createHistogram<L extends readonly string[]>(
  name: string,
  labels: L,
  bounds: readonly number[],
): Histogram<L> & { read(): Sample[] } {
  const children = createChildren(labels, () => new Spread(bounds));
  if (labels.length === 0) children.of([]);
  const limits = [...bounds.map(String), '+Inf'];
  return {
    of: (...values) => children.of(values),
    read: () =>
      Array.from(children.all()).flatMap(({ labels, child }) => {
        let count = 0;
        const buckets = child.counts.map((each, at): Sample => {
          count += each;
          return { metricName: `${name}_bucket`, labels: { ...labels, le: limits[at] ?? '' }, value: count };
        });
        return [
          ...buckets,
          { metricName: `${name}_sum`, labels, value: child.sum },
          { metricName: `${name}_count`, labels, value: count },
        ];
      }),
  };
}
