// The license that a hub signs for one machine.
import type { Limits } from './limits.ts';

/** Texts by name: the vendor's own data. */
export type Metadata = { readonly [name: string]: string };

/** Times are RFC 3339 UTC with milliseconds. Optional members are absent if unset. */
export type SignedLicense = {
  readonly licenseId: string;
  readonly app: string;
  readonly seatId: string;
  readonly machineFingerprint: string;
  /** Name of the licensee. */
  readonly customer?: string;
  readonly limits?: Limits;
  /** Names of the features that the license unlocks. */
  readonly features?: readonly string[];
  /** The vendor's own data, as far as the license's terms sign it. */
  readonly metadata?: Metadata;
  /** Counts the changes of the terms, from 1. Absent in licenses of an older hub. */
  readonly termsVersion?: number;
  readonly issuedAt: string;
  /** End of the license. */
  readonly expiresAt?: string;
  /** End of the grace: until then the license stays valid after `expiresAt`. */
  readonly graceEndsAt?: string;
  /** End of the lease: until then this copy is valid without contact to the hub. */
  readonly leaseExpiresAt?: string;
  /** RFC 7638 thumbprint of the signing key. */
  readonly kid: string;
  readonly alg: 'ES256';
  readonly signature: string;
  /**
   * Whether the license names this feature, also after its end: `LicenseClient.has` asks for a valid license too. Not
   * enumerable, so a copy of the license, such as one sent through Electron's IPC, does not have it.
   */
  has(feature: string): boolean;
};
