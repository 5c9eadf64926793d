// What an offer grants, what an order sold, and what it did to a license, as hubctl and the console show it.
import type { OfferTerms } from '../../gen/hub/order/v1/order_pb.ts';
import { type CalendarPeriod, DAY_MS, periodText } from './calendar.ts';
import { counted } from './counted.ts';

export type GrantSummary =
  /** Without seats the default of the app, without a validity for ever. */
  | { readonly grants: 'license'; readonly seats?: number; readonly validFor?: CalendarPeriod }
  | { readonly grants: 'renewal'; readonly by: CalendarPeriod }
  | { readonly grants: 'seats'; readonly seats: number }
  /** A kind of newer hubs. */
  | { readonly grants: 'unknown' };

export function summarizeGrant(grant: OfferTerms['grant']): GrantSummary {
  switch (grant.case) {
    case 'license': {
      const { seatLimit, validFor } = grant.value;
      return {
        grants: 'license',
        ...(seatLimit !== 0 && { seats: seatLimit }),
        ...(validFor && { validFor: periodOf(validFor) }),
      };
    }
    case 'renewal':
      return { grants: 'renewal', by: periodOf(grant.value.by ?? { years: 0, months: 0, days: 0 }) };
    case 'seats':
      return { grants: 'seats', seats: grant.value.seats };
    case undefined:
      return { grants: 'unknown' };
  }
}

/** `a license with 2 seats for 1 year`, `a renewal by 1 year`, `5 more seats` */
export function grantText(grant: GrantSummary): string {
  switch (grant.grants) {
    case 'license': {
      const { seats, validFor } = grant;
      const of = seats === undefined ? '' : ` with ${seatsText(seats)}`;
      return `a license${of}${validFor ? ` for ${periodText(validFor)}` : ''}`;
    }
    case 'renewal':
      return `a renewal by ${periodText(grant.by)}`;
    case 'seats':
      return counted(grant.seats, 'more seat');
    case 'unknown':
      return 'unknown';
  }
}

/**
 * What an order of this quantity does: `issues 2 licenses of demo`, `renews lic_… by 2 years`.
 *
 * @param offer `app/slug`
 * @param licenseId The license to change; empty for new licenses.
 */
export function orderedText(
  grant: GrantSummary,
  { quantity, offer, licenseId }: { quantity: number; offer: string; licenseId: string },
): string {
  switch (grant.grants) {
    case 'license': {
      return `issues ${counted(quantity, 'license')} of ${offer.split('/', 1)[0]}`;
    }
    case 'renewal': {
      const { years, months, days } = grant.by;
      const by = { years: years * quantity, months: months * quantity, days: days * quantity };
      return `renews ${licenseId} by ${periodText(by)}`;
    }
    case 'seats':
      return `adds ${counted(grant.seats * quantity, 'seat')} to ${licenseId}`;
    case 'unknown':
      return `grants ${quantity} × ${offer}`;
  }
}

/** `3 × demo/pro, version 2` */
export function soldText(sold: {
  readonly quantity: number;
  readonly offer: string;
  readonly offerVersion: number;
}): string {
  return `${sold.quantity} × ${sold.offer}, version ${sold.offerVersion}`;
}

/** `issued`, `renewed` or `5 seats added` */
export function grantedText(license: { readonly issued: boolean; readonly seatsAdded?: number }): string {
  const { issued, seatsAdded = 0 } = license;
  if (issued) return 'issued';
  if (seatsAdded === 0) return 'renewed';
  return `${counted(seatsAdded, 'seat')} added`;
}

/** `suspended`, `5 seats` or `365 days`: what a refund took back; undefined for a license of an order that stands. */
export function takenText(license: {
  readonly takenBack?: string;
  readonly seatsTaken?: number;
  readonly timeTakenMs?: number;
}): string | undefined {
  const { takenBack, seatsTaken = 0, timeTakenMs = 0 } = license;
  if (takenBack !== 'undone') return takenBack === 'kept' ? 'nothing' : takenBack;
  if (seatsTaken > 0) return seatsText(seatsTaken);
  if (timeTakenMs === 0) return 'nothing';
  return counted(Math.round(timeTakenMs / DAY_MS), 'day');
}

function seatsText(seats: number): string {
  return seats === -1 ? 'unlimited seats' : counted(seats, 'seat');
}

/** Without what only messages have. */
function periodOf({ years, months, days }: CalendarPeriod): CalendarPeriod {
  return { years, months, days };
}
