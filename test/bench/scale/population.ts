// The generated customers of a populated database. Every value is computed from an index, so nothing has to
// be stored.
import { hash } from 'node:crypto';
import { formatId } from '../../../core/ids.ts';
import {
  formatLicenseKey,
  hashLicenseKey,
  normalizeLicenseKey,
} from '../../../core/license/keys/license-key.ts';

/**
 * The size of a population. Each license has one seat. There is one additional license for a whole site.
 * `from` and `to` are the period of its data, in milliseconds since 1970.
 */
export type Population = {
  readonly licenses: number;
  readonly sessions: number;
  readonly from: number;
  readonly to: number;
};

/** 32 bytes in hex that look random and are the same each time. */
export function digest(kind: string, index: number): string {
  return hash('sha256', `${kind}:${index}`);
}

/** A UUIDv7 (RFC 9562) with this time. The other bits come from `entropy`, at least 19 hexadecimal digits. */
export function uuidAt(ms: number, entropy: string): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  const variant = '89ab'.charAt(Number.parseInt(entropy.charAt(3), 16) & 3);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${entropy.slice(0, 3)}-${variant}${entropy.slice(4, 7)}-${entropy.slice(7, 19)}`;
}

/** Spreads numbers evenly over the rows. It rarely repeats a row before it has used all. */
export function pick(of: number, number: number): number {
  return Math.floor((number * GOLDEN_RATIO * of) % of);
}
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export type MadeLicense = { readonly id: string; readonly createdAt: number };

export function licenseAt({ licenses, from, to }: Population, index: number): MadeLicense {
  const createdAt = from + Math.floor(((to - from) * index) / licenses);
  return { id: uuidAt(createdAt, digest('license', index)), createdAt };
}

export function keyAt(index: number): string {
  return formatLicenseKey(Buffer.from(digest('key', index), 'hex'));
}

/** The form in which the hub stores a key: its SHA-256 and its last symbols. */
export function storedKey(key: string): { readonly hash: Buffer; readonly normalized: string } {
  const normalized = normalizeLicenseKey(key) ?? '';
  return { hash: hashLicenseKey(normalized), normalized };
}

/** The machine in the license's seat. */
export function fingerprintAt(index: number): string {
  return digest('machine', index);
}

export function labelAt(index: number): string {
  return `desk ${index % 1000}`;
}

export const APP_VERSION = '2.14.0';

/** The site license. Its index follows those of all other licenses. */
export const SITE = { seats: 100_000, taken: 90_000 } as const;

/** A machine in a seat of the site license. */
export function siteMachineAt(index: number): string {
  return digest('site-machine', index);
}

/**
 * A customer with many licenses: every third one from the second on, up to this number. The first of them also
 * has many changes.
 */
export const FLEET = {
  licenses: 10_000,
  /** The index of its first license. */
  license: 1,
  changes: 10_000,
  name: 'fleet',
  email: 'fleet@example.com',
  externalRef: 'FLEET',
} as const;

/** The number of other licenses per customer. */
const LICENSES_PER_CUSTOMER = 4;

export type MadeCustomer = {
  readonly id: string;
  /** The id in the hub's responses. */
  readonly customerId: string;
  readonly name: string;
  readonly email: string;
  readonly externalRef: string;
  readonly createdAt: number;
};

/** The customer of a license. */
export function customerAt(population: Population, licenseIndex: number): MadeCustomer {
  const isOfFleet = licenseIndex % 3 === FLEET.license && licenseIndex < 3 * FLEET.licenses;
  return isOfFleet
    ? fleetCustomer(population)
    : ownerAt(population, Math.floor(licenseIndex / LICENSES_PER_CUSTOMER));
}

function ownerAt(population: Population, index: number): MadeCustomer {
  const { createdAt } = licenseAt(population, index * LICENSES_PER_CUSTOMER);
  const id = uuidAt(createdAt, digest('customer', index));
  const [name, email, externalRef] = [`customer ${index}`, `customer-${index}@example.com`, `CRM-${index}`];
  return { id, customerId: formatId('cus', id), name, email, externalRef, createdAt };
}

function fleetCustomer({ from }: Population): MadeCustomer {
  const id = uuidAt(from, digest('fleet', 0));
  const { name, email, externalRef } = FLEET;
  return { id, customerId: formatId('cus', id), name, email, externalRef, createdAt: from };
}

/** All customers. */
export function* customersOf(population: Population): Generator<MadeCustomer> {
  yield fleetCustomer(population);
  for (let index = 0; index <= population.licenses; index += LICENSES_PER_CUSTOMER) {
    yield ownerAt(population, Math.floor(index / LICENSES_PER_CUSTOMER));
  }
}

/** An endpoint that is disabled, with pending deliveries of many events. */
export const QUEUED_ENDPOINT = uuidAt(Date.UTC(2026, 0, 1), digest('endpoint', 0));
/** An enabled endpoint with deliveries of all events, some of which failed. */
export const SERVED_ENDPOINT = uuidAt(Date.UTC(2026, 0, 1), digest('endpoint', 1));

/** The event of the issue of a license. */
export function issuedEventAt(population: Population, index: number): string {
  return uuidAt(licenseAt(population, index).createdAt, digest('event', index));
}

export type MadeSession = {
  readonly id: string;
  /** The id in the hub's responses. */
  readonly sessionId: string;
  readonly gateway: 'gateway_one' | 'gateway_two';
  readonly status: 'success' | 'failed' | 'cancelled' | 'pending';
  readonly amountMinor: number;
  readonly createdAt: number;
  readonly settledAt: number;
  readonly merchantTransactionId: string;
  readonly providerPaymentId: string;
  /** The provider's id of the payment. */
  readonly proof: string;
};

/** The service token that created all sessions, as a bare UUID. */
export function shopTokenOf({ from }: Population): string {
  return uuidAt(from, digest('token', 0));
}

const SETTLED_AFTER_MS = 90_000;

export function sessionAt({ sessions, from, to }: Population, index: number): MadeSession {
  const entropy = digest('session', index);
  const createdAt = from + Math.floor(((to - from) * index) / sessions);
  const id = uuidAt(createdAt, entropy);
  const sessionId = formatId('chs', id);
  return {
    id,
    sessionId,
    gateway: index % 2 === 0 ? 'gateway_one' : 'gateway_two',
    status: statusAt(index),
    amountMinor: 1_000 + (Number.parseInt(entropy.slice(40, 48), 16) % 500_000),
    createdAt,
    settledAt: createdAt + SETTLED_AFTER_MS,
    merchantTransactionId: sessionId.slice('chs_'.length).toUpperCase(),
    providerPaymentId: entropy.slice(20, 44).toUpperCase(),
    proof: `V-${entropy.slice(44, 64).toUpperCase()}`,
  };
}

/** Seventeen of twenty sessions are paid. */
function statusAt(index: number): MadeSession['status'] {
  switch (index % 20) {
    case 7:
      return 'failed';
    case 13:
      return 'cancelled';
    case 19:
      return 'pending';
    default:
      return 'success';
  }
}
