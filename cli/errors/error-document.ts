// The JSON document of an error, and the data that describes one.
import type { Target } from '../connect/target.ts';
import {
  id,
  integer,
  list,
  object,
  optional,
  text,
  type ValueOf,
  withDescription,
} from '../output/json-schema.ts';
import type { Given } from '../parse/field-names.ts';

const VIOLATION = object('Violation', {
  field: text('name of the option or argument, such as `--seats`'),
  message: text('the rule'),
});
/** A request field that breaks a rule of the contract. */
export type FieldError = ValueOf<typeof VIOLATION>;

const SEATS = object('SeatUsage', {
  limit: integer('seats allowed; -1 is unlimited'),
  used: integer('seats taken'),
});

/** The member `error` of what hubctl prints with `--output json`. */
export const ERROR = object('Error', {
  code: text('error code for programs: `usage`, `hub_unreachable`, `license_unknown`, …'),
  message: text('message for people'),
  field: optional(text('the option, argument or request field that caused it')),
  sessionId: optional(id('chs', 'the charge session that the request left behind')),
  licenseIds: optional(list(id('lic'), 'issued licenses whose keys may be missing from the output')),
  seats: optional(withDescription(SEATS, 'the seats of the license')),
  violations: optional(list(VIOLATION, 'the validation rules that the request violates')),
  stack: optional(text('the stack trace, with --debug')),
});

export type Failure = Omit<ValueOf<typeof ERROR>, 'stack'> & {
  readonly exitCode: number;
  /** A name or id that was not found. */
  readonly unknown?: { readonly kind: string; readonly value: string };
};

/** The hub that was called, and the options and arguments that set the fields of the request. */
export type ErrorContext = {
  readonly target: Target | undefined;
  readonly givenFor: (field: string) => Given | undefined;
};
