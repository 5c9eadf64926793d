// Verification leases: one hub at a time calls the provider about a session, without an open transaction.
import { setTimeout } from 'node:timers/promises';
import type { Pool } from 'pg';
import { newUuid } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { type ProviderHttp, ProviderUnavailable } from '../providers/driver.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { endLeases, type LeaseHolder, type LeaseRequest, takeLeases } from './take-and-end-lease.ts';

export type VerificationLeases = ReturnType<typeof createVerificationLeases>;

export type VerificationTask<T> = {
  readonly work: (lease: VerificationLease) => Promise<T>;
  /** Milliseconds to wait for the lease. Default: 0. */
  readonly waitMs?: number;
  /** Called while the lease is taken. A result ends the wait, because another holder has done the work. */
  readonly alreadyDone?: () => Promise<T | undefined>;
  /** The lease, if the caller already has it. */
  readonly taken?: TakenVerificationLease | undefined;
  /** Whether the lease counts towards the rate limit of callbacks and waits for it. */
  readonly rateLimited?: boolean;
};

/** A lease taken by another statement. It expires if it is not run. */
export type TakenVerificationLease = {
  readonly holder: string;
  readonly session: StoredSession;
  /** When it was requested, by `performance.now()`. */
  readonly requestedAt: number;
};

export type VerificationLease = {
  readonly session: StoredSession;
  /** For the settlement, which ends the lease in its own transaction; call `markEnded` then. */
  readonly fence: Fence;
  markEnded(): void;
  /** Requests time out when the lease expires, because another hub may call the provider then. */
  limitHttp(http: ProviderHttp): ProviderHttp;
  /**
   * Call it before the hub records a request whose answer must not be lost.
   * @throws ProviderUnavailable if the lease expires too soon for a request
   */
  requireTimeLeft(): void;
};

/**
 * Identifies a lease to the settlement. Every lease of a session gets the next fencing number, so a hub that
 * was frozen until its lease expired settles nothing.
 */
export type Fence = { readonly holder: string; readonly fencingNumber: number };

/** Whether another hub took the verification lease since. Its answer is newer than this one. */
export function isFenced({ fence }: { readonly fence?: Fence }, { fencingNumber }: StoredSession): boolean {
  return fence !== undefined && fence.fencingNumber !== fencingNumber;
}

export type LeaseOptions = {
  readonly pool: Pool;
  /** Longer than all provider calls of one verification usually take together. */
  readonly leaseMs: number;
};

const POLL_MS = 100;
/** Callers that wait for the same session. No provider sends that many callbacks at the same time. */
const MAX_WAITING = 64;
/** From the end of the last provider call to the expiry of its lease. */
const MARGIN_MS = 500;
/** The time that a request and its answer need. */
const MIN_REQUEST_MS = 1_000;
const END_RETRY_MS = 500;

export function createVerificationLeases({ pool, leaseMs }: LeaseOptions) {
  const takeTogether = createBatcher<LeaseRequest, StoredSession | undefined>({
    maxSize: 64,
    run: (requests) => takeLeases(pool, requests, leaseMs),
  });
  const waiters = countWaiters();
  let activeCount = 0;

  const take = async (request: LeaseRequest, isFirstTry: boolean): Promise<StoredSession | undefined> => {
    try {
      const session = await takeTogether(request);
      if (session !== undefined || !isFirstTry) return session;
      // A batch skips locked rows. On the first try, a separate statement waits for the row, so that other
      // requests are not delayed.
      const [single] = await takeLeases(pool, [request], leaseMs);
      return single;
    } catch (error) {
      await end([request]); // the lease may have been taken before the connection was lost
      throw error;
    }
  };

  const acquire = async <T>(sessionId: string, task: VerificationTask<T>): Promise<Acquired<T>> => {
    const { waitMs = 0, alreadyDone, rateLimited = false } = task;
    const holder = newUuid();
    const waitUntil = performance.now() + waitMs;
    for (let isFirstTry = true; ; isFirstTry = false) {
      const requestedAt = performance.now();
      const session = await take({ sessionId, holder, rateLimited }, isFirstTry);
      if (session !== undefined) return { lease: { holder, session, requestedAt } };
      const result = await alreadyDone?.();
      if (result !== undefined || performance.now() >= waitUntil) return { result };
      if (waiters.count(sessionId) >= MAX_WAITING) return { result: undefined };
      await waiters.pause(sessionId);
    }
  };

  /**
   * Ends leases. Resolves after the first attempt. Failed attempts are repeated in the background, so that an
   * outage does not block the session until its lease expires.
   */
  const end = async (leases: readonly LeaseHolder[]): Promise<void> => {
    if (leases.length > 0 && !(await tryEnd(leases))) void retryEnd(leases);
  };
  const retryEnd = async (leases: readonly LeaseHolder[]): Promise<void> => {
    const expiresAt = performance.now() + leaseMs;
    do await setTimeout(END_RETRY_MS, undefined, { ref: false });
    while (performance.now() < expiresAt && !(await tryEnd(leases)));
  };
  const tryEnd = (leases: readonly LeaseHolder[]): Promise<boolean> =>
    pool.query(endLeases(leases)).then(
      () => true,
      () => false,
    );

  return {
    /**
     * Runs `task.work` under the verification lease of the session. Resolves with undefined, without running
     * it, if the lease is taken for all of `waitMs`, or if too many callers wait. The lease of a hub that is
     * killed expires.
     */
    async run<T>(sessionId: string, task: VerificationTask<T>): Promise<T | undefined> {
      const acquired = task.taken ? { lease: task.taken } : await acquire(sessionId, task);
      if (acquired.lease === undefined) return acquired.result;
      const { holder, session, requestedAt } = acquired.lease;
      const remainingMs = () => requestedAt + leaseMs - MARGIN_MS - performance.now();
      let isEnded = false;
      activeCount += 1;
      try {
        return await task.work({
          session,
          fence: { holder, fencingNumber: session.fencingNumber },
          markEnded: () => {
            isEnded = true;
          },
          limitHttp: (http) => limitHttp(http, remainingMs),
          requireTimeLeft: () => {
            if (remainingMs() < MIN_REQUEST_MS) throw noTimeLeft();
          },
        });
      } finally {
        activeCount -= 1;
        if (!isEnded) await end([{ sessionId, holder }]);
      }
    },
    end,
    /** Leases that this process holds. */
    get activeCount() {
      return activeCount;
    },
  };
}

type Acquired<T> =
  | { readonly lease: TakenVerificationLease }
  | { readonly lease?: undefined; readonly result: T | undefined };

function countWaiters() {
  const counts = new Map<string, number>();
  const count = (sessionId: string): number => counts.get(sessionId) ?? 0;
  return {
    count,
    async pause(sessionId: string): Promise<void> {
      counts.set(sessionId, count(sessionId) + 1);
      await setTimeout(POLL_MS);
      counts.set(sessionId, count(sessionId) - 1);
      if (count(sessionId) === 0) counts.delete(sessionId);
    },
  };
}

function limitHttp(http: ProviderHttp, remainingMs: () => number): ProviderHttp {
  return {
    async send(request) {
      const leftMs = Math.floor(remainingMs());
      if (leftMs <= 0) throw noTimeLeft();
      return http.send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? leftMs, leftMs) });
    },
  };
}

function noTimeLeft(): ProviderUnavailable {
  return new ProviderUnavailable('the earlier calls of this verification took too long');
}
