// JSON schema and columns of licenses.
import type { IssuedLicense } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { periodText } from '../../../lib/presentation/calendar.ts';
import { LICENSE_STATES } from '../../../lib/presentation/enum-names.ts';
import { requireField } from '../../connect/calls.ts';
import { type CsvColumns, csv } from '../../output/csv.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { limitsText, pairsText, seatsText, shortTime } from '../cells.ts';
import * as json from '../schema.ts';

export const PERIOD = json.view('Period', 'hub.license.v1.Period', {
  years: json.integer('years'),
  months: json.integer('months'),
  days: json.integer('days'),
});

export const LICENSE = json.view('License', 'hub.license.v1.License', {
  licenseId: json.id('lic'),
  app: json.text(),
  keyHint: json.text(),
  state: json.word(LICENSE_STATES),
  seats: json.integer('seats allowed; -1 is unlimited'),
  seatsUsed: json.integer('seats taken'),
  limits: json.limits(),
  ownLimits: json.limits(),
  limitProfile: json.optional(json.text('its limit profile')),
  features: json.list(json.text()),
  customer: json.optional(json.text('name of the customer')),
  customerId: json.optional(json.id('cus', 'the customer')),
  expiresAt: json.optional(json.time('when it expires')),
  graceDays: json.integer('number of days that it stays valid after its expiry'),
  graceEndsAt: json.optional(json.time('when its grace ends')),
  validFor: json.optional(PERIOD),
  leaseDays: json.optional(
    json.integer('number of days that a signed license is valid without contacting the hub'),
  ),
  createdAt: json.time(),
  revokedAt: json.optional(json.time('when it was revoked')),
  revokeReason: json.optional(json.text('why it was revoked')),
  suspendedAt: json.optional(json.time('when it was suspended')),
  suspendReason: json.optional(json.text('why it was suspended')),
  metadata: json.map(json.text()),
  signedMetadata: json.list(json.text()),
  termsVersion: json.integer(),
  keyGeneration: json.integer(),
  keyDerivable: json.boolean(),
  lastActiveOn: json.optional(json.text('the day a machine last used it, in UTC: 2026-01-31')),
});
export type LicenseView = json.ValueOf<typeof LICENSE>;

export const ISSUED_LICENSE = json.view(
  'IssuedLicense',
  { message: 'hub.license.v1.IssuedLicense', without: ['license'] },
  {
    ...LICENSE.properties,
    licenseKey: json.optional(json.text('its key; missing if it was replaced since')),
  },
);
/** The license, and how many machines use it beyond its seats. */
export const UPDATED_LICENSE = json.view(
  'UpdatedLicense',
  { message: 'hub.license.v1.UpdateLicenseResponse', without: ['license', 'changed'] },
  { ...LICENSE.properties, seatsOverLimit: json.integer() },
);

export type IssuedView = json.ValueOf<typeof ISSUED_LICENSE>;

export const LICENSE_KEY = json.object('LicenseKey', {
  licenseId: json.id('lic', 'the license'),
  licenseKey: json.text('its key'),
});

export const LICENSE_KEY_FIELDS = columnsOf(LICENSE_KEY, 'licenseKey', 'licenseId');

export function licenseView(license: License | undefined): LicenseView {
  const { limit: seats, used: seatsUsed } = requireField(license?.seats, 'seats');
  return json.viewOf(LICENSE, license, { seats, seatsUsed });
}

export function issuedView(issued: Pick<IssuedLicense, 'license' | 'licenseKey'>): IssuedView {
  const { licenseId, ...rest } = licenseView(issued.license);
  return { licenseId, ...(issued.licenseKey !== '' && { licenseKey: issued.licenseKey }), ...rest };
}

export const LICENSE_FIELDS: readonly Column<LicenseView>[] = [
  ...columnsOf(LICENSE, 'licenseId', 'app', { keyHint: 'Key ends with' }, 'state'),
  { title: 'Seats', cell: (item) => `${seatsText(item.seats)}, ${item.seatsUsed} in use` },
  { title: 'Profile', cell: (item) => item.limitProfile },
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
  { title: 'Features', cell: (item) => item.features.join(' ') || undefined },
  ...columnsOf(LICENSE, 'customer', { customerId: 'Customer id' }),
  { title: 'Expires', cell: expiry },
  ...columnsOf(LICENSE, 'graceEndsAt', 'leaseDays'),
  { title: 'Metadata', cell: (item) => pairsText(item.metadata) || undefined },
  { title: 'Signed', cell: (item) => item.signedMetadata.join(' ') || undefined },
  ...columnsOf(LICENSE, 'termsVersion', { lastActiveOn: 'Last active', createdAt: 'Issued' }, 'suspendedAt'),
  ...columnsOf(LICENSE, { suspendReason: 'Why suspended' }, 'revokedAt', { revokeReason: 'Reason' }),
];

export const LICENSE_COLUMNS: readonly Column<LicenseView>[] = [
  ...pick(LICENSE_FIELDS, 'License', 'App'),
  { title: 'Key', cell: (item) => `…${item.keyHint}` },
  ...pick(LICENSE_FIELDS, 'State'),
  { title: 'Seats', cell: ({ seats, seatsUsed }) => `${seatsUsed}/${seatsText(seats)}`, right: true },
  ...pick(LICENSE_FIELDS, 'Profile'),
  { title: 'Expires', cell: (item) => shortTime(item.expiresAt) },
  ...pick(LICENSE_FIELDS, 'Customer'),
];

export const UPDATED_LICENSE_FIELDS: readonly Column<json.ValueOf<typeof UPDATED_LICENSE>>[] = [
  ...LICENSE_FIELDS,
  { title: 'Seats over', cell: (item) => item.seatsOverLimit || undefined },
];

/** The columns of a CSV file. Lists are separated by semicolons. */
export const LICENSE_CSV: CsvColumns<LicenseView> = {
  ...csv<LicenseView>('licenseId', 'app', 'keyHint', 'state'),
  seats: (item) => seatsText(item.seats),
  ...csv<LicenseView>('seatsUsed', 'limitProfile'),
  limits: (item) => limitsText(item.limits, ';'),
  features: (item) => item.features.join(';'),
  ...csv<LicenseView>('customerId', 'customer', 'expiresAt', 'graceEndsAt', 'leaseDays'),
  metadata: (item) => pairsText(item.metadata, ';'),
  ...csv<LicenseView>('termsVersion', 'lastActiveOn', 'createdAt', 'suspendedAt', 'revokedAt'),
};

function expiry({ expiresAt, validFor }: LicenseView): string {
  return validFor ? `${periodText(validFor)} after the first activation` : (shortTime(expiresAt) ?? 'never');
}

export const ISSUED_COLUMNS: readonly Column<IssuedView>[] = [
  ...columnsOf(ISSUED_LICENSE, 'licenseKey', 'licenseId'),
  { title: 'Seats', cell: (item) => seatsText(item.seats), right: true },
];

export const ISSUED_FIELDS: readonly Column<IssuedView>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  ...pick(LICENSE_FIELDS, 'License', 'App'),
  { title: 'Seats', cell: (item) => seatsText(item.seats) },
  ...pick(LICENSE_FIELDS, 'Profile', 'Limits', 'Features', 'Customer', 'Expires', 'Grace ends', 'Lease days'),
];
