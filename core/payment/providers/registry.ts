// The drivers of all gateways, and the claims that they read from callbacks.
import { hash } from 'node:crypto';
import { HubError } from '../../errors.ts';
import { type CallbackClaim, CallbackMalformed, type PaymentDriver } from './driver.ts';
import { gatewayOne } from './gateway-one/driver.ts';
import { gatewayTwo } from './gateway-two/driver.ts';
import { stripe } from './stripe/driver.ts';

export const DRIVERS: readonly PaymentDriver[] = [gatewayOne, gatewayTwo, stripe];

const byGateway = new Map(DRIVERS.map((driver) => [driver.gateway, driver]));

/** @throws HubError `gateway_unknown` */
export function driverOf(gateway: string): PaymentDriver {
  const driver = byGateway.get(gateway);
  if (driver !== undefined) return driver;
  throw new HubError(
    'gateway_unknown',
    `unknown gateway; the gateways are ${[...byGateway.keys()].join(', ')}`,
    { field: 'gateway' },
  );
}

type Fields = Readonly<Record<string, string>>;

/**
 * The maximum length, in characters, of a field that a driver reads. Providers send shorter ids and words.
 */
export const MAX_READ_CHARACTERS = 255;
/** The maximum size of a field that the journal stores only for operators: amounts, ids, words. */
export const MAX_SHOWN_BYTES = 100;
/**
 * The journal's name for the fields it does not store. No callback can have it: brackets are refused in
 * names.
 */
export const OTHER_FIELDS = '[other fields]';

/** The journal's name for the slot whose secret verified the signature of the callback. */
export const SLOT_FIELD = '[slot]';

/**
 * Parses the claim. The driver gets only the fields it reads, which the journal stores, so a journaled
 * callback parses to the same claim as the received one.
 *
 * @throws CallbackMalformed
 */
export function parseClaim(
  { callback: { reads }, readCallback }: PaymentDriver,
  fields: Fields,
): CallbackClaim {
  const given = Object.entries(fields).filter(([name]) => reads.includes(name));
  // Counts characters, as the contract does: some take two UTF-16 code units.
  const tooLong = given.find(
    ([, value]) => value.length > MAX_READ_CHARACTERS && [...value].length > MAX_READ_CHARACTERS,
  );
  if (tooLong !== undefined) {
    const [name] = tooLong;
    throw new CallbackMalformed(name, `${name} must be at most ${MAX_READ_CHARACTERS} characters`);
  }
  return readCallback(Object.fromEntries(given));
}

/** Parses the claim of a journaled callback; undefined if only an older version accepted its fields. */
export function parseJournaledClaim(gateway: string, fields: Fields): CallbackClaim | undefined {
  try {
    return parseClaim(driverOf(gateway), fields);
  } catch (error) {
    if (error instanceof CallbackMalformed) return undefined;
    throw error;
  }
}

/** Whether the provider has to confirm the claim before it can change the session. */
export function mayBePaid({ outcome }: CallbackClaim): boolean {
  return outcome === 'paid' || outcome === 'unknown';
}

/** The journal's reason for a callback whose status the hub ignores. */
export function reasonIgnored({ status }: CallbackClaim): string {
  return `status ${JSON.stringify(status)} has no effect`;
}

/**
 * The fields that the journal stores: those that the driver reads, and those that it shows to operators
 * unless they are too long. Anybody can send other fields, so the journal stores only their number, size and
 * digest. It stores no credentials.
 */
export function keptFields(
  { reads, shows = [], unjournaled = [] }: PaymentDriver['callback'],
  fields: Fields,
): Fields {
  const kept: [name: string, value: string][] = [];
  const others: [name: string, value: string][] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (unjournaled.includes(name)) continue;
    const isKept =
      reads.includes(name) || (shows.includes(name) && Buffer.byteLength(value) <= MAX_SHOWN_BYTES);
    (isKept ? kept : others).push([name, value]);
  }
  return Object.fromEntries(others.length > 0 ? [...kept, [OTHER_FIELDS, summarize(others)]] : kept);
}

/** The digest covers the JSON array of the pairs sorted by name, so that equal fields have equal digests. */
function summarize(fields: readonly (readonly [name: string, value: string])[]): string {
  const json = JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const digest = hash('sha256', json);
  return `${fields.length}, ${Buffer.byteLength(json)} bytes, SHA-256 ${digest}`;
}
