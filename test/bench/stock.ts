// What both databases hold: licenses with a few seats, and charge sessions that wait to be paid. Written in bulk.
import { formatId, newUuid } from '../../core/ids.ts';
import { hashLicenseKey, newLicenseKeys, normalizeLicenseKey } from '../../core/license/keys/license-key.ts';
import { query } from '../support/postgres/databases.ts';

export type StockLicense = {
  readonly uuid: string;
  readonly licenseId: string;
  readonly licenseKey: string;
  readonly keyHash: Buffer;
};

export type StockSession = {
  readonly uuid: string;
  readonly sessionId: string;
  readonly transactionId: string;
};

/**
 * Where a database of one of the two is filled. All of it is analyzed each time: plans made for empty tables would stay,
 * as both servers prepare their statements, and no database in use is without statistics for long.
 */
export type Warehouse = {
  addLicenses(licenses: readonly StockLicense[]): Promise<void>;
  /** Each license gets one seat, taken by `machineOf(0)`; all others are free. */
  resetSeats(licenses: readonly StockLicense[]): Promise<void>;
  /** Of 100.00 BDT, pending. */
  addSessions(sessions: readonly StockSession[]): Promise<void>;
  /** How many rows a query finds. */
  count(sql: string): Promise<number>;
};

export const APP = 'bench';
export const CUSTOMER = 'Ada Lovelace';
export const LIMITS = { projects: 10, exports: -1 };
/** Of each license; the first is taken. */
export const SEATS = 5;

/** What every machine says of itself, and is on record of the one that has a seat. */
export const MACHINE = { label: "Ada's laptop", appVersion: '4.2.1' };

export function makeLicenses(count: number): StockLicense[] {
  return newLicenseKeys(count).map((licenseKey) => {
    const uuid = newUuid();
    const keyHash = hashLicenseKey(normalizeLicenseKey(licenseKey) ?? '');
    return { uuid, licenseId: formatId('lic', uuid), licenseKey, keyHash };
  });
}

export function makeSessions(count: number, batch: number): StockSession[] {
  return Array.from({ length: count }, (_, index) => {
    const uuid = newUuid();
    return { uuid, sessionId: formatId('chs', uuid), transactionId: `T${batch}N${index}` };
  });
}

/** The fingerprint of the machine in a license's seat of this number. */
export function machineOf(seat: number): string {
  return `bench-machine-fingerprint-${seat}`;
}

export async function countOf(databaseUrl: string, sql: string): Promise<number> {
  const [row] = await query<{ count: number }>(databaseUrl, `select count(*)::int from (${sql}) found`);
  return row?.count ?? 0;
}
