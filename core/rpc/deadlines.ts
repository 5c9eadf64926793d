// Deadlines of many calls on one timer: a timer of its own for each would cost more than most calls do.

import { LinkedList } from '../../ports/linked-list.ts';

export type Deadlines = {
  /** Calls `over` after `ms`, unless what is returned is called before. */
  set(ms: number, over: () => void): () => void;
};

type Entry = { readonly dueAt: number; readonly over: () => void };

/** Calls have few different deadlines. Those of the same length are due in the order in which they came. */
export function createDeadlines(): Deadlines {
  const queues = new Map<number, LinkedList<Entry>>();

  const watch = (ms: number, queue: LinkedList<Entry>, inMs: number): void => {
    // Nothing waits for it but calls, and a process that has none may end.
    setTimeout(() => {
      const now = performance.now();
      for (let link = queue.first; link !== undefined; link = queue.first) {
        const { dueAt, over } = link.value;
        if (dueAt > now) return watch(ms, queue, dueAt - now);
        queue.remove(link);
        over();
      }
      queues.delete(ms);
    }, inMs).unref();
  };

  return {
    set(ms, over) {
      let queue = queues.get(ms);
      if (queue === undefined) {
        queue = new LinkedList();
        queues.set(ms, queue);
        watch(ms, queue, ms);
      }
      const entries = queue;
      const link = entries.add({ dueAt: performance.now() + ms, over });
      return () => entries.remove(link);
    },
  };
}
