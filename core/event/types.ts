// The types of events, and the patterns that select them.
import { HubError } from '../errors.ts';
import type { IdPrefix } from '../ids.ts';

/** What each type says, for the documentation. The first part of a type names the kind of its object. */
export const EVENT_TYPES = {
  'license.issued': 'A license was issued.',
  'license.imported': 'A license of another system was imported.',
  'license.updated': 'Terms of a license were changed.',
  'license.renewed': 'The expiry of a license was extended.',
  'license.expiring': 'A license expires within 14 days.',
  'license.expired': 'A license has expired, and its grace has ended.',
  'license.suspended': 'A license was suspended.',
  'license.resumed': 'A suspended license was resumed.',
  'license.revoked': 'A license was revoked.',
  'license.reinstated': 'A revoked license was reinstated.',
  'license.rekeyed': 'The key of a license was replaced.',
  'license.transferred': 'A license was given to another customer.',
  'seat.activated': 'A machine took a seat.',
  'seat.released': 'A seat was released, by its machine or by an operator.',
  'session.succeeded': 'A charge session was paid.',
  'session.failed': 'A charge session failed, or the provider confirmed that it failed.',
  'session.cancelled': 'A charge session was cancelled, or the provider confirmed that it was cancelled.',
  'session.reopened': 'A charge session that failed or was cancelled can be paid again.',
  'session.reversed': 'The payment of a charge session was taken back.',
  'callback.dead': 'The hub gave up a callback.',
  'customer.created': 'A customer was created.',
  'customer.updated': 'The data of a customer was changed.',
  'customer.erased': 'The personal data of a customer was erased.',
  'endpoint.disabled': 'An endpoint was disabled, because its deliveries failed or by an operator.',
  'endpoint.test': 'An operator tests an endpoint. Only that endpoint receives it.',
} as const satisfies Readonly<Record<`${ObjectKind}.${string}`, string>>;

export type EventType = keyof typeof EVENT_TYPES;

/** The kinds of objects, and the prefixes of their ids. */
export const OBJECT_KINDS = {
  license: 'lic',
  seat: 'seat',
  session: 'chs',
  callback: 'cb',
  customer: 'cus',
  endpoint: 'whe',
} as const satisfies Readonly<Record<string, IdPrefix>>;

export type ObjectKind = keyof typeof OBJECT_KINDS;

/** The kind of the object of an event. */
export function kindOf(type: string): ObjectKind {
  const [kind = ''] = type.split('.');
  if (Object.hasOwn(OBJECT_KINDS, kind)) return kind as ObjectKind;
  throw new Error(`the event type ${type} has no kind of object`);
}

/**
 * The types that patterns select. A pattern is a type, `KIND.*` or `*`. `endpoint.test` needs no subscription.
 *
 * @throws HubError `event_type_unknown` for a pattern without a type
 */
export function typesOf(patterns: readonly string[], field: string): ReadonlySet<string> {
  const all = Object.keys(EVENT_TYPES);
  return new Set(
    patterns.flatMap((pattern) => {
      const types = all.filter((type) => matches(pattern, type));
      if (types.length > 0) return types;
      throw new HubError(
        'event_type_unknown',
        `there is no event type "${pattern}": use *, KIND.* or one of ${all.join(', ')}`,
        { field },
      );
    }),
  );
}

/** Whether a pattern selects a type. */
export function matches(pattern: string, type: string): boolean {
  if (pattern.endsWith('.*')) return type.startsWith(pattern.slice(0, -1));
  return pattern === '*' || pattern === type;
}
