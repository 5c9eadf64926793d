// Reads the licenses of orders: the SQL, and the conversion of its rows.
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import type { TakenBackName } from '../entities.ts';

export type OrderLicense = {
  /** UUID. */
  readonly licenseId: string;
  readonly issued: boolean;
  readonly expiresBefore: Date | null;
  readonly expiresAfter: Date | null;
  readonly seatsAdded: number;
  /** What a refund did with the license; null unless the order is refunded. */
  readonly takenBack: TakenBackName | null;
  readonly seatsTaken: number;
  readonly timeTakenMs: number;
};

/** The members of a license that no refund has taken back. */
export const NOT_TAKEN = { takenBack: null, seatsTaken: 0, timeTakenMs: 0 } as const;

export type OrderLicenseRow = Omit<OrderLicense, 'expiresBefore' | 'expiresAfter'> & {
  readonly expiresBeforeMs: number | null;
  readonly expiresAfterMs: number | null;
};

/** SQL: the licenses of order `o`, as a JSON array of `OrderLicenseRow`. */
export const LICENSES_OF_ORDER = `
  -- order_license_pkey
  coalesce((select jsonb_agg(jsonb_build_object(
      'licenseId', l.license_id, 'issued', l.issued, 'seatsAdded', l.seats_added,
      'expiresBeforeMs', ${epochMs('l.expires_before')}, 'expiresAfterMs', ${epochMs('l.expires_after')},
      'takenBack', l.taken_back, 'seatsTaken', l.seats_taken, 'timeTakenMs', l.time_taken_ms)
      order by l.license_id)
    from order_license l where l.order_id = o.id), '[]')`;

export function orderLicenseOf(row: OrderLicenseRow): OrderLicense {
  const { expiresBeforeMs, expiresAfterMs, ...license } = row;
  return { ...license, expiresBefore: dateOf(expiresBeforeMs), expiresAfter: dateOf(expiresAfterMs) };
}
