// What only goes up. To count is an addition: it happens on every request.
import { type Children, createChildren, type LabelValues } from './children.ts';
import type { Sample } from './family.ts';

export class Count {
  value = 0;

  add(more = 1): void {
    this.value += more;
  }
}

export type Counter<L extends readonly string[]> = {
  /** There from now on, at 0 if nothing is counted: from nothing to one is no increase to Prometheus. */
  of(...values: LabelValues<L>): Count;
};

export function createCounter<L extends readonly string[]>(labels: L): Counter<L> & { read(): Sample[] } {
  const children: Children<Count> = createChildren(labels, () => new Count());
  if (labels.length === 0) children.of([]);
  return {
    of: (...values) => children.of(values),
    read: () => Array.from(children.all(), ({ labels, child }) => ({ labels, value: child.value })),
  };
}
