// The kinds of objects of events, and the patterns that select types of events.
import { EVENT_TYPES, type EventType } from '../../lib/presentation/event-types.ts';
import { HubError } from '../errors.ts';
import type { IdPrefix } from '../ids.ts';

/** The kinds of objects, and the prefixes of their ids. */
export const OBJECT_KINDS = {
  license: 'lic',
  seat: 'seat',
  session: 'chs',
  refund: 'rfd',
  order: 'ord',
  callback: 'cb',
  customer: 'cus',
  endpoint: 'whe',
} as const satisfies Readonly<Record<KindOf<EventType>, IdPrefix>>;

type KindOf<T> = T extends `${infer Kind}.${string}` ? Kind : never;

export type ObjectKind = keyof typeof OBJECT_KINDS;

/** Returns the kind of object of a type of event. @throws Error for an unknown kind */
export function kindOf(type: string): ObjectKind {
  const [kind = ''] = type.split('.');
  if (Object.hasOwn(OBJECT_KINDS, kind)) return kind as ObjectKind;
  throw new Error(`the event type ${type} has no kind of object`);
}

/**
 * Returns the types that patterns select. A pattern is a type, `KIND.*` or `*`.
 *
 * @throws HubError `event_type_unknown` for a pattern that selects no type
 */
export function typesOf(patterns: readonly string[], field: string): ReadonlySet<string> {
  const all = Object.keys(EVENT_TYPES);
  return new Set(
    patterns.flatMap((pattern) => {
      const types = all.filter((type) => matches(pattern, type));
      if (types.length > 0) return types;
      throw new HubError(
        'event_type_unknown',
        `there is no event type "${pattern}": use *, ${choices(pattern, all)}`,
        { field },
      );
    }),
  );
}

/** The patterns that may be meant. Not all types, because long messages are truncated. */
function choices(pattern: string, all: readonly string[]): string {
  const [kind = ''] = pattern.split('.');
  const types = all.filter((type) => type.startsWith(`${kind}.`));
  if (types.length > 0) return `${kind}.* or one of ${types.join(', ')}`;
  const kinds = Object.keys(OBJECT_KINDS).map((each) => `${each}.*`);
  return `${kinds.join(', ')} or a type such as ${all[0]}`;
}

export function matches(pattern: string, type: string): boolean {
  if (pattern.endsWith('.*')) return type.startsWith(pattern.slice(0, -1));
  return pattern === '*' || pattern === type;
}
