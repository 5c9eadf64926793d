// Makes a hub run its lists of licenses by each filter, so that their statements can be observed.
import { formatId } from '../../../core/ids.ts';
import { LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import type { TestHub } from '../../support/hub/hub.ts';
import { customerAt, FLEET, licenseAt, type Population } from './population.ts';

export async function driveLicenseLists({ admin }: TestHub, population: Population): Promise<void> {
  const { licenses, from, to } = population;
  const time = (share: number) => {
    const ms = from + share * (to - from);
    return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: 0 };
  };
  const day = (share: number) => new Date(Number(time(share).seconds) * 1_000).toISOString().slice(0, 10);
  /** A license of a customer with few, in the middle of the list, with metadata of its own. */
  const index = 12 * Math.floor(licenses / 24);
  const { license } = await admin.getLicense({ licenseId: formatId('lic', licenseAt(population, index).id) });
  const ofCustomers = [index, FLEET.license].flatMap((one) => {
    const { customerId, name, email, externalRef } = customerAt(population, one);
    return [
      { customerId },
      { customer: name },
      { customerEmail: email.toUpperCase() },
      { externalRef },
      { search: email },
      { search: externalRef.toLowerCase() },
      { customerId, app: 'scale', state: LicenseState.ACTIVE },
    ];
  });
  for (const filter of [
    ...ofCustomers,
    {},
    { app: 'scale' },
    { app: 'scale', state: LicenseState.ACTIVE },
    { keyHint: license?.keyHint ?? '' },
    { metadata: { order: `ORD-${index}` } },
    { metadata: { plan: 'pro' } },
    { metadata: { plan: 'unknown' } },
    { expiresAfter: time(0.2), expiresBefore: time(2) },
    { state: LicenseState.EXPIRED },
    { state: LicenseState.GRACE },
    { state: LicenseState.SUSPENDED },
    { state: LicenseState.REVOKED },
    { activeSince: day(0.9) },
    { inactiveSince: day(0.1) },
    ...SEARCHES.map((search) => ({ search })),
    { search: `ORD-${index}`, app: 'scale' },
    { search: license?.keyHint ?? '' },
    { search: license?.licenseId ?? '' },
  ]) {
    const { nextPageToken } = await admin.listLicenses(filter);
    if (nextPageToken !== '') await admin.listLicenses({ ...filter, pageToken: nextPageToken });
  }
}

/** Frequent texts, rare ones, short ones, and texts that nothing matches. */
const SEARCHES = [
  'ORD-',
  'example.com',
  'customer',
  'ORD-8888',
  'customer-777@',
  'nobody at all',
  'ord-customer',
  'pro',
  '7',
  'Ω',
  'ab',
];
