// The signed license: what a hub signs for a machine.
import type { Limits } from './limits.ts';

/** A license as the hub signed it. Times are RFC 3339 UTC with milliseconds; an optional member is absent if unset. */
export type SignedLicense = {
  readonly licenseId: string;
  readonly app: string;
  readonly seatId: string;
  readonly machineFingerprint: string;
  /** Whom the license was issued to. */
  readonly customer?: string;
  /** Limits by name; -1 means unlimited. */
  readonly limits?: Limits;
  readonly issuedAt: string;
  /** The license ends then. */
  readonly expiresAt?: string;
  /** This copy is good until then without contact to the hub. */
  readonly leaseExpiresAt?: string;
  /** Id of the key that signed it: its RFC 7638 thumbprint. */
  readonly kid: string;
  readonly alg: 'ES256';
  readonly signature: string;
};
