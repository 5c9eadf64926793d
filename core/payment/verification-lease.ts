// One provider call at a time for each session, over all hubs, without holding a database transaction open.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';

export type VerificationLease = {
  /**
   * Runs `work` while this hub alone may ask the provider about the session. Returns undefined, without running it,
   * if somebody else is asking. The lease of a hub that was killed ends by itself.
   */
  run<T>(sessionId: string, work: () => Promise<T>): Promise<T | undefined>;
};

export type LeaseOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Longer than all provider calls of one verification can take together. */
  readonly leaseMs: number;
};

export function createVerificationLease({ pool, clock, leaseMs }: LeaseOptions): VerificationLease {
  return {
    async run(sessionId, work) {
      const holder = newUuid();
      const now = clock();
      const { rowCount } = await pool.query({
        name: 'take_lease',
        text: `update charge_session set verifying_by = $2, verifying_until = $4
               where id = $1 and (verifying_until is null or verifying_until <= $3)`,
        values: [sessionId, holder, now, new Date(now.getTime() + leaseMs)],
      });
      if (rowCount === 0) return undefined;
      try {
        return await work();
      } finally {
        // If this fails the lease runs out.
        await pool
          .query({
            name: 'end_lease',
            text: `update charge_session set verifying_by = null, verifying_until = null
                   where id = $1 and verifying_by = $2`,
            values: [sessionId, holder],
          })
          .catch(() => {});
      }
    },
  };
}
