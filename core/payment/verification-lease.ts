// One provider call at a time for each session, over all hubs, without holding a database transaction open.
import { setTimeout } from 'node:timers/promises';
import type { Pool } from 'pg';
import { newUuid } from '../ids.ts';
import { type ProviderHttp, ProviderUnavailable } from './provider.ts';

export type VerificationLease = {
  /**
   * Runs `work` while this hub alone may call the provider about the session. Returns undefined, without running it,
   * if somebody else still does after `waitMs`. The lease of a hub that was killed ends by itself.
   */
  run<T>(sessionId: string, task: LeasedWork<T>): Promise<T | undefined>;
};

export type LeasedWork<T> = {
  readonly work: (lease: Lease) => Promise<T>;
  readonly waitMs: number;
  /** Asked while waiting: the result, if what the others did leaves nothing to do. */
  readonly inVain: () => Promise<T | undefined>;
};

export type Lease = {
  /** HTTP that ends with the lease: what a provider is asked after it might be asked by another hub as well. */
  within(http: ProviderHttp): ProviderHttp;
};

export type LeaseOptions = {
  readonly pool: Pool;
  /** Longer than all provider calls of one verification usually take together. */
  readonly leaseMs: number;
};

const POLL_MS = 100;
/** From the end of a call to the end of its lease. */
const MARGIN_MS = 500;

export function createVerificationLease({ pool, leaseMs }: LeaseOptions): VerificationLease {
  const take = async (sessionId: string, holder: string): Promise<boolean> => {
    const { rowCount } = await pool.query({
      name: 'take_lease',
      // The database's clock: those of the hubs may differ.
      text: `update charge_session set verifying_by = $2, verifying_until = now() + $3 * interval '1 millisecond'
             where id = $1 and (verifying_until is null or verifying_until <= now())`,
      values: [sessionId, holder, leaseMs],
    });
    return rowCount === 1;
  };

  const end = async (sessionId: string, holder: string): Promise<void> => {
    await pool
      .query({
        name: 'end_lease',
        text: `update charge_session set verifying_by = null, verifying_until = null
               where id = $1 and verifying_by = $2`,
        values: [sessionId, holder],
      })
      .catch(() => {}); // it runs out by itself
  };

  return {
    async run(sessionId, { work, waitMs, inVain }) {
      const holder = newUuid();
      const waitUntil = performance.now() + waitMs;
      let begun = performance.now();
      while (!(await take(sessionId, holder))) {
        const result = await inVain();
        if (result !== undefined || performance.now() >= waitUntil) return result;
        await setTimeout(POLL_MS);
        begun = performance.now();
      }
      const leftMs = () => begun + leaseMs - MARGIN_MS - performance.now();
      try {
        return await work({ within: (http) => within(http, leftMs) });
      } finally {
        await end(sessionId, holder);
      }
    },
  };
}

function within(http: ProviderHttp, leftMs: () => number): ProviderHttp {
  return {
    async send(request) {
      const left = Math.floor(leftMs());
      if (left <= 0) throw new ProviderUnavailable('the questions before this one took too long');
      return http.send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? left, left) });
    },
  };
}
