// The test data of each database: licenses with a few seats, and pending charge sessions. Rows are inserted
// in bulk.
import { formatId, newUuid } from '../../core/ids.ts';
import { hashLicenseKey, normalizeLicenseKey } from '../../core/license/keys/license-key.ts';
import { randomLicenseKey } from '../support/license-key.ts';
import { query } from '../support/postgres/databases.ts';

export type LicenseData = {
  readonly uuid: string;
  readonly licenseId: string;
  readonly licenseKey: string;
  readonly keyHash: Buffer;
};

export type SessionData = {
  readonly uuid: string;
  readonly sessionId: string;
  /** By which the provider knows the session. */
  readonly transactionId: string;
  readonly providerPaymentId: string;
};

/** `order`: each session sells a new license to the customer. */
export type SessionKind = 'plain' | 'order';

/** What the licenses that are sold have besides their app. */
export const OFFER = { slug: 'pro', name: 'Pro', features: ['export'], validDays: 365 };

/**
 * Fills the database of one side. Each method runs ANALYZE on the whole database: both servers prepare their
 * statements, so plans for empty tables would stay in use. A production database always has statistics.
 */
export type TestDatabase = {
  addLicenses(licenses: readonly LicenseData[]): Promise<void>;
  /** Each license gets one taken seat, for `machineOf(0)`, which was last seen now. All other seats are free. */
  resetSeats(licenses: readonly LicenseData[]): Promise<void>;
  /** The sessions are pending and for 100.00 BDT. */
  addSessions(sessions: readonly SessionData[], kind: SessionKind): Promise<void>;
  /** The number of rows that a query returns. */
  count(sql: string): Promise<number>;
  /** Selects the rows that the server still has to process after its responses. Undefined if it never has any. */
  readonly deferred?: string;
};

export const APP = 'bench';
export const CUSTOMER = 'Ada Lovelace';
export const LIMITS = { projects: 10, exports: -1 };
/** Seats of each license. The first one is taken. */
export const SEATS = 5;

/** The label and version that every machine reports. The record of the seated machine contains them too. */
export const MACHINE = { label: "Ada's laptop", appVersion: '4.2.1' };

export function makeLicenses(count: number): LicenseData[] {
  return Array.from({ length: count }, randomLicenseKey).map((licenseKey) => {
    const uuid = newUuid();
    const keyHash = hashLicenseKey(normalizeLicenseKey(licenseKey) ?? '');
    return { uuid, licenseId: formatId('lic', uuid), licenseKey, keyHash };
  });
}

export function makeSessions(count: number, batch: number): SessionData[] {
  return Array.from({ length: count }, (_, index) => {
    const uuid = newUuid();
    const transactionId = `T${batch}N${index}`;
    return { uuid, sessionId: formatId('chs', uuid), transactionId, providerPaymentId: transactionId };
  });
}

/** The fingerprint of the machine in the seat with this number. */
export function machineOf(seat: number): string {
  return `bench-machine-fingerprint-${seat}`;
}

export async function countOf(databaseUrl: string, sql: string): Promise<number> {
  const [row] = await query<{ count: number }>(databaseUrl, `select count(*)::int from (${sql}) found`);
  return row?.count ?? 0;
}
