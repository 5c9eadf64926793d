// The license that a hub signs for one machine.
import type { Limits } from './limits.ts';

/** Times are RFC 3339 UTC with milliseconds. Optional members are absent if unset. */
export type SignedLicense = {
  readonly licenseId: string;
  readonly app: string;
  readonly seatId: string;
  readonly machineFingerprint: string;
  /** Name of the licensee. */
  readonly customer?: string;
  /** Limits by name; -1 means unlimited. */
  readonly limits?: Limits;
  readonly issuedAt: string;
  /** End of the license. */
  readonly expiresAt?: string;
  /** End of the lease: until then this copy is valid without contact to the hub. */
  readonly leaseExpiresAt?: string;
  /** RFC 7638 thumbprint of the signing key. */
  readonly kid: string;
  readonly alg: 'ES256';
  readonly signature: string;
};
