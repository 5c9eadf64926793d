// JSON schema and columns of licenses.
import type { IssuedLicense } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  id,
  integer,
  map,
  object,
  optional,
  text,
  time,
  type ValueOf,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { limitNumbers, limitsText, rfc3339, seatsText, shortTime } from '../cells.ts';

/**
 * Words of the states by their number in the contract. The generated enum would load protobuf and slow down
 * help.
 */
export const LICENSE_STATES = { active: 1, revoked: 2, expired: 3 } as const;

export const LICENSE = object(
  'License',
  {
    licenseId: id('lic'),
    app: text(),
    keyHint: text(),
    state: word(LICENSE_STATES),
    seats: integer('seats allowed; -1 is unlimited'),
    seatsUsed: integer('seats taken'),
    limits: map(integer()),
    limitProfile: optional(text('its limit profile')),
    customer: optional(text('the customer')),
    expiresAt: optional(time('when it expires')),
    leaseDays: optional(integer('number of days that a signed license is valid without contacting the hub')),
    createdAt: time(),
    revokedAt: optional(time('when it was revoked')),
    revokeReason: optional(text('why it was revoked')),
  },
  { message: 'hub.license.v1.License' },
);
export type LicenseView = ValueOf<typeof LICENSE>;

export const ISSUED_LICENSE = object(
  'IssuedLicense',
  { ...LICENSE.properties, licenseKey: text() },
  { message: 'hub.license.v1.IssuedLicense', without: ['license'] },
);
export type IssuedView = ValueOf<typeof ISSUED_LICENSE>;

export function licenseView(license: License): LicenseView {
  const seats = requireField(license.seats, 'seats');
  return {
    licenseId: license.licenseId,
    app: license.app,
    keyHint: license.keyHint,
    state: wordFor(LICENSE_STATES, license.state),
    seats: seats.limit,
    seatsUsed: seats.used,
    limits: limitNumbers(license.limits),
    ...(license.limitProfile !== undefined && { limitProfile: license.limitProfile }),
    ...(license.customer !== undefined && { customer: license.customer }),
    ...(license.expiresAt && { expiresAt: rfc3339(license.expiresAt) }),
    ...(license.leaseDays !== undefined && { leaseDays: license.leaseDays }),
    createdAt: rfc3339(requireField(license.createdAt, 'creation time')),
    ...(license.revokedAt && { revokedAt: rfc3339(license.revokedAt) }),
    ...(license.revokeReason !== undefined && { revokeReason: license.revokeReason }),
  };
}

export function issuedView(issued: IssuedLicense): IssuedView {
  const { licenseId, ...rest } = licenseView(requireField(issued.license, 'license'));
  return { licenseId, licenseKey: issued.licenseKey, ...rest };
}

export const LICENSE_COLUMNS: readonly Column<LicenseView>[] = [
  { title: 'LICENSE', cell: (item) => item.licenseId },
  { title: 'APP', cell: (item) => item.app },
  { title: 'KEY', cell: (item) => `…${item.keyHint}` },
  { title: 'STATE', cell: (item) => item.state },
  { title: 'SEATS', cell: usage, right: true },
  { title: 'PROFILE', cell: (item) => item.limitProfile },
  { title: 'EXPIRES', cell: (item) => shortTime(item.expiresAt) },
  { title: 'CUSTOMER', cell: (item) => item.customer },
];

export const LICENSE_FIELDS: readonly Column<LicenseView>[] = [
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'App', cell: (item) => item.app },
  { title: 'Key ends with', cell: (item) => item.keyHint },
  { title: 'State', cell: (item) => item.state },
  { title: 'Seats', cell: (item) => `${seatsText(item.seats)}, ${item.seatsUsed} in use` },
  { title: 'Profile', cell: (item) => item.limitProfile },
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
  { title: 'Customer', cell: (item) => item.customer },
  { title: 'Expires', cell: (item) => shortTime(item.expiresAt) ?? 'never' },
  { title: 'Lease days', cell: (item) => item.leaseDays },
  { title: 'Issued', cell: (item) => shortTime(item.createdAt) },
  { title: 'Revoked', cell: (item) => shortTime(item.revokedAt) },
  { title: 'Reason', cell: (item) => item.revokeReason },
];

export const ISSUED_COLUMNS: readonly Column<IssuedView>[] = [
  { title: 'LICENSE KEY', cell: (item) => item.licenseKey },
  { title: 'LICENSE', cell: (item) => item.licenseId },
  { title: 'SEATS', cell: (item) => seatsText(item.seats), right: true },
];

export const ISSUED_FIELDS: readonly Column<IssuedView>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'App', cell: (item) => item.app },
  { title: 'Seats', cell: (item) => seatsText(item.seats) },
  { title: 'Profile', cell: (item) => item.limitProfile },
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
  { title: 'Customer', cell: (item) => item.customer },
  { title: 'Expires', cell: (item) => shortTime(item.expiresAt) ?? 'never' },
  { title: 'Lease days', cell: (item) => item.leaseDays },
];

function usage({ seats, seatsUsed }: LicenseView): string {
  return `${seatsUsed}/${seatsText(seats)}`;
}
