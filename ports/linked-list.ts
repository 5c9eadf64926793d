// What is under way, in the order in which it began.

/**
 * For what comes and goes thousands of times a second. A Set would do the same, but V8 makes its table anew every few
 * dozen deletions, and the old table refers to the new one. The one that a full collection has moved to the old generation
 * thus keeps alive, until the next full collection, all that is ever added after it: the young generation, which is
 * quick to clear of what is dead, finds nothing dead any more.
 */
export class LinkedList<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Link<T> | undefined {
    return this.#first;
  }

  /** What is returned is what removes it. */
  add(value: T): Link<T> {
    const link: Link<T> = { value, previous: this.#last, next: undefined, isIn: true };
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size += 1;
    return link;
  }

  /** Does nothing if it is removed already. */
  remove(link: Link<T>): void {
    if (!link.isIn) return;
    const { previous, next } = link;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    // What is removed must not keep its neighbors alive.
    link.previous = undefined;
    link.next = undefined;
    link.isIn = false;
    this.#size -= 1;
  }

  /** Whoever is given a value may remove that one, and no other, before the next. */
  *[Symbol.iterator](): Generator<T> {
    let link = this.#first;
    while (link !== undefined) {
      const { value, next } = link;
      yield value;
      link = next;
    }
  }
}

export type Link<T> = {
  readonly value: T;
  previous: Link<T> | undefined;
  next: Link<T> | undefined;
  isIn: boolean;
};
