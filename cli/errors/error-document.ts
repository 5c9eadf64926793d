// The JSON document of an error, and the data that describes one.
import type { Target } from '../connect/choose-hub.ts';
import type { Given } from '../parse/field-names.ts';
import * as json from '../views/schema.ts';

const VIOLATION = json.object('Violation', {
  field: json.text('name of the option or argument, such as `--seats`'),
  message: json.text('the rule'),
});
/** A request field that breaks a rule of the contract. */
export type FieldError = json.ValueOf<typeof VIOLATION>;

const SEATS = json.object('SeatUsage', {
  limit: json.integer('seats allowed; -1 is unlimited'),
  used: json.integer('seats taken'),
});

/** The member `error` of what hubctl prints with `--output json`. */
export const ERROR = json.object('Error', {
  code: json.text('error code for programs: `usage`, `hub_unreachable`, `license_unknown`, …'),
  message: json.text('message for people'),
  field: json.optional(json.text('the option, argument or request field that caused it')),
  sessionId: json.optional(json.id('chs', 'the charge session that the request left behind')),
  licenseIds: json.optional(
    json.list(json.id('lic'), 'issued licenses whose keys may be missing from the output'),
  ),
  seats: json.optional(json.withDescription(SEATS, 'the seats of the license')),
  violations: json.optional(json.list(VIOLATION, 'the validation rules that the request violates')),
  stack: json.optional(json.text('the stack trace, with --debug')),
});

export type Failure = Omit<json.ValueOf<typeof ERROR>, 'stack'> & {
  readonly exitCode: number;
  /** A name or id that was not found. */
  readonly unknown?: { readonly kind: string; readonly value: string };
};

/** The hub that was called, and the options and arguments that set the fields of the request. */
export type ErrorContext = {
  readonly target: Target | undefined;
  readonly givenFor: (field: string) => Given | undefined;
};
