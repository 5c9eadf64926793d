// The request and the result of a verification.
import type { WaitingCallback } from '../callbacks/postpone-or-give-up.ts';
import type { VerificationStep } from '../providers/driver.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { Settlement } from '../settlement/finding.ts';
import type { TakenVerificationLease } from './lease.ts';

export type VerifyRequest = {
  readonly sessionId: string;
  /** The session, if the caller has just read it. */
  readonly session?: StoredSession;
  /** The verification lease, if the caller has it. */
  readonly lease?: TakenVerificationLease | undefined;
  /** The callback that triggers the verification. The answer also settles all callbacks that wait. */
  readonly callback?: WaitingCallback;
  /** Verify a paid session too, because it may have been reversed. */
  readonly includePaid?: boolean;
  /** Apply the rate limit. For verifications that anybody can trigger by sending callbacks. */
  readonly rateLimited?: boolean;
  /** Milliseconds to wait for the verification lease. Default: 0. */
  readonly waitMs?: number;
};

/** Rejects only with errors that are neither the provider's nor the session's. */
export type VerifySession = (request: VerifyRequest) => Promise<VerifyResult>;

export type VerifyResult =
  | {
      readonly kind: 'settled';
      readonly settlement: Settlement;
      readonly steps: readonly VerificationStep[];
      /** How long a payment that is in progress may take, if the provider says so. */
      readonly pendingUntil?: Date | undefined;
    }
  /** The provider did not answer; the session is unchanged. */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly steps: readonly VerificationStep[];
      /** When to verify again for the waiting callbacks; undefined if none wait. */
      readonly nextInMs?: number | undefined;
    }
  /** The verification lease is taken. */
  | { readonly kind: 'busy' }
  /** The callbacks of the session have reached their rate limit. */
  | { readonly kind: 'rate_limited'; readonly nextInMs: number };
