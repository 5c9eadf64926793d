// Tracks the position of the outbox up to which all events have numbers.
//
// An insert assigns the position, so a transaction in progress may still commit events before positions that
// have numbers. The sequencer must read these events too: events of an object get numbers in the order of
// their positions.

/**
 * As in pg_snapshot: each transaction before `xmin` has ended, and no transaction from `xmax` on has begun.
 */
export type Snapshot = { readonly xmin: bigint; readonly xmax: bigint };

export function createOutboxFloor() {
  let floor = 0;
  /**
   * Becomes the floor once the transactions that were in progress have ended, and their events have numbers.
   */
  let next: { readonly position: number; readonly xmax: bigint } | undefined;
  return {
    /** All events up to this position have numbers. */
    position: () => floor,
    /**
     * Records that all events after `position()` that the snapshot contains have numbers.
     *
     * @param last a position that an insert assigned before the snapshot
     */
    completed(last: number, { xmin, xmax }: Snapshot): void {
      if (next !== undefined && xmin >= next.xmax) {
        floor = next.position;
        next = undefined;
      }
      next ??= { position: last, xmax };
    },
  };
}
