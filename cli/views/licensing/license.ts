// JSON schema and columns of licenses.
import type { IssuedLicense } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { periodText } from '../../../lib/presentation/calendar.ts';
import { LICENSE_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  id,
  integer,
  list,
  map,
  object,
  optional,
  text,
  time,
  type ValueOf,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { limitNumbers, limitsText, pairsText, rfc3339, seatsText, shortTime } from '../cells.ts';

export const PERIOD = object(
  'Period',
  { years: integer('years'), months: integer('months'), days: integer('days') },
  { message: 'hub.license.v1.Period' },
);

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
    ownLimits: map(integer()),
    limitProfile: optional(text('its limit profile')),
    features: list(text()),
    customer: optional(text('name of the customer')),
    customerId: optional(id('cus', 'the customer')),
    expiresAt: optional(time('when it expires')),
    graceDays: integer('number of days that it stays valid after its expiry'),
    graceEndsAt: optional(time('when its grace ends')),
    validFor: optional(PERIOD),
    leaseDays: optional(integer('number of days that a signed license is valid without contacting the hub')),
    createdAt: time(),
    revokedAt: optional(time('when it was revoked')),
    revokeReason: optional(text('why it was revoked')),
    suspendedAt: optional(time('when it was suspended')),
    suspendReason: optional(text('why it was suspended')),
    metadata: map(text()),
    signedMetadata: list(text()),
    termsVersion: integer(),
    keyGeneration: integer(),
    keyDerivable: boolean(),
    lastActiveOn: optional(text('the day a machine last used it, in UTC: 2026-01-31')),
  },
  { message: 'hub.license.v1.License' },
);
export type LicenseView = ValueOf<typeof LICENSE>;

export const ISSUED_LICENSE = object(
  'IssuedLicense',
  { ...LICENSE.properties, licenseKey: optional(text('its key; missing if it was replaced since')) },
  { message: 'hub.license.v1.IssuedLicense', without: ['license'] },
);
/** The license, and how many machines use it beyond its seats. */
export const UPDATED_LICENSE = object(
  'UpdatedLicense',
  { ...LICENSE.properties, seatsOverLimit: integer() },
  { message: 'hub.license.v1.UpdateLicenseResponse', without: ['license', 'changed'] },
);
export type UpdatedView = ValueOf<typeof UPDATED_LICENSE>;

export type IssuedView = ValueOf<typeof ISSUED_LICENSE>;

export const LICENSE_KEY = object('LicenseKey', {
  licenseId: id('lic', 'the license'),
  licenseKey: text('its key'),
});

export const LICENSE_KEY_FIELDS: readonly Column<ValueOf<typeof LICENSE_KEY>>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  { title: 'License', cell: (item) => item.licenseId },
];

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
    ownLimits: limitNumbers(license.ownLimits),
    ...(license.limitProfile !== undefined && { limitProfile: license.limitProfile }),
    features: license.features,
    ...(license.customer !== undefined && { customer: license.customer }),
    ...(license.customerId !== undefined && { customerId: license.customerId }),
    ...validityView(license),
    ...(license.leaseDays !== undefined && { leaseDays: license.leaseDays }),
    createdAt: rfc3339(requireField(license.createdAt, 'creation time')),
    ...(license.revokedAt && { revokedAt: rfc3339(license.revokedAt) }),
    ...(license.revokeReason !== undefined && { revokeReason: license.revokeReason }),
    ...(license.suspendedAt && { suspendedAt: rfc3339(license.suspendedAt) }),
    ...(license.suspendReason !== undefined && { suspendReason: license.suspendReason }),
    metadata: license.metadata,
    signedMetadata: license.signedMetadata,
    termsVersion: license.termsVersion,
    keyGeneration: license.keyGeneration,
    keyDerivable: license.keyDerivable,
    ...(license.lastActiveOn !== undefined && { lastActiveOn: license.lastActiveOn }),
  };
}

function validityView({ expiresAt, graceDays, graceEndsAt, validFor }: License) {
  return {
    ...(expiresAt && { expiresAt: rfc3339(expiresAt) }),
    graceDays,
    ...(graceEndsAt && { graceEndsAt: rfc3339(graceEndsAt) }),
    ...(validFor && { validFor: { years: validFor.years, months: validFor.months, days: validFor.days } }),
  };
}

export function issuedView(issued: Pick<IssuedLicense, 'license' | 'licenseKey'>): IssuedView {
  const { licenseId, ...rest } = licenseView(requireField(issued.license, 'license'));
  return { licenseId, ...(issued.licenseKey !== '' && { licenseKey: issued.licenseKey }), ...rest };
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
  { title: 'Features', cell: (item) => item.features.join(' ') || undefined },
  { title: 'Customer', cell: (item) => item.customer },
  { title: 'Customer id', cell: (item) => item.customerId },
  { title: 'Expires', cell: expiry },
  { title: 'Grace ends', cell: (item) => shortTime(item.graceEndsAt) },
  { title: 'Lease days', cell: (item) => item.leaseDays },
  { title: 'Metadata', cell: (item) => pairsText(item.metadata) || undefined },
  { title: 'Signed', cell: (item) => item.signedMetadata.join(' ') || undefined },
  { title: 'Terms version', cell: (item) => item.termsVersion },
  { title: 'Last active', cell: (item) => item.lastActiveOn },
  { title: 'Issued', cell: (item) => shortTime(item.createdAt) },
  { title: 'Suspended', cell: (item) => shortTime(item.suspendedAt) },
  { title: 'Why suspended', cell: (item) => item.suspendReason },
  { title: 'Revoked', cell: (item) => shortTime(item.revokedAt) },
  { title: 'Reason', cell: (item) => item.revokeReason },
];

export const UPDATED_LICENSE_FIELDS: readonly Column<UpdatedView>[] = [
  ...LICENSE_FIELDS,
  { title: 'Seats over', cell: (item) => item.seatsOverLimit || undefined },
];

/** The columns of a CSV file. Lists are separated by semicolons. */
export const LICENSE_CSV: Readonly<Record<string, (item: LicenseView) => string>> = {
  licenseId: (item) => item.licenseId,
  app: (item) => item.app,
  keyHint: (item) => item.keyHint,
  state: (item) => item.state,
  seats: (item) => seatsText(item.seats),
  seatsUsed: (item) => String(item.seatsUsed),
  limitProfile: (item) => item.limitProfile ?? '',
  limits: (item) => limitsText(item.limits, ';'),
  features: (item) => item.features.join(';'),
  customerId: (item) => item.customerId ?? '',
  customer: (item) => item.customer ?? '',
  expiresAt: (item) => item.expiresAt ?? '',
  graceEndsAt: (item) => item.graceEndsAt ?? '',
  leaseDays: (item) => String(item.leaseDays ?? ''),
  metadata: (item) =>
    Object.entries(item.metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join(';'),
  termsVersion: (item) => String(item.termsVersion),
  lastActiveOn: (item) => item.lastActiveOn ?? '',
  createdAt: (item) => item.createdAt,
  suspendedAt: (item) => item.suspendedAt ?? '',
  revokedAt: (item) => item.revokedAt ?? '',
};

function expiry({ expiresAt, validFor }: LicenseView): string {
  return validFor ? `${periodText(validFor)} after the first activation` : (shortTime(expiresAt) ?? 'never');
}

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
  { title: 'Features', cell: (item) => item.features.join(' ') || undefined },
  { title: 'Customer', cell: (item) => item.customer },
  { title: 'Expires', cell: expiry },
  { title: 'Grace ends', cell: (item) => shortTime(item.graceEndsAt) },
  { title: 'Lease days', cell: (item) => item.leaseDays },
];

function usage({ seats, seatsUsed }: LicenseView): string {
  return `${seatsUsed}/${seatsText(seats)}`;
}
