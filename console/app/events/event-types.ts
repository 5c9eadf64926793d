// The types of events, as choices of a filter and of the form of an endpoint.
import { EVENT_TYPES } from '../../../lib/presentation/event-types.ts';
import type { Filter } from '../components/filters.tsx';
import { choicesWithAny } from '../components/filters.tsx';
import type { Check } from '../forms/checks-field.tsx';

/** The hub sends this type only on request, and does not keep its events. */
const TEST = 'endpoint.test';

const TYPES = Object.entries(EVENT_TYPES).filter(([type]) => type !== TEST);
const KINDS = [...new Set(TYPES.map(([type]) => patternOf(type)))];

/** Each kind of event as a pattern, followed by its types. */
export const TYPE_CHECKS: readonly Check[] = [
  { value: '*', hint: 'All events, also of types that later releases add.' },
  ...KINDS.flatMap((pattern) => [
    { value: pattern, hint: 'All of these, also those that later releases add.', coveredBy: ['*'] },
    ...TYPES.filter(([type]) => patternOf(type) === pattern).map(([value, hint]) => ({
      value,
      hint,
      coveredBy: ['*', pattern],
    })),
  ]),
];

export const TYPE_FILTER: Filter = {
  name: 'type',
  label: 'Type',
  choices: choicesWithAny(TYPE_CHECKS.map(({ value }) => value).filter((value) => value !== '*')),
};

/** The meaning of a type; empty for types of newer hubs. */
export function meaningOf(type: string): string {
  return new Map<string, string>(TYPES).get(type) ?? '';
}

/** `license.*` of `license.issued`. */
function patternOf(type: string): string {
  return `${type.slice(0, type.indexOf('.'))}.*`;
}
