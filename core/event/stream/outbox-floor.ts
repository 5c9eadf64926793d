// Follows from which position on the outbox may have events without numbers.
//
// Positions are given at insert, so a transaction that is still in progress may add events before positions that are
// numbered. Events of an object get their numbers in the order of their positions only if no such event is left out.

/** As in pg_snapshot: all transactions below `xmin` have ended, and none from `xmax` on has begun. */
export type Snapshot = { readonly xmin: bigint; readonly xmax: bigint };

export type OutboxFloor = {
  /** All events up to this position have numbers. */
  position(): number;
  /**
   * Records that in this snapshot, all events after `position()` have numbers.
   *
   * @param last a position that was given before the snapshot
   */
  completed(last: number, snapshot: Snapshot): void;
};

export function createOutboxFloor(): OutboxFloor {
  let floor = 0;
  /** Becomes the floor once the transactions that were in progress have ended, and their events have numbers. */
  let next: { readonly position: number; readonly xmax: bigint } | undefined;
  return {
    position: () => floor,
    completed(last, { xmin, xmax }) {
      if (next !== undefined && xmin >= next.xmax) {
        floor = next.position;
        next = undefined;
      }
      next ??= { position: last, xmax };
    },
  };
}
