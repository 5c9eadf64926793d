// What an error means to the person or program that called hubctl: a code, one line, an exit code.
import { CliError, EXIT, PartialFailure } from './failure.ts';
import type { Given } from './field-names.ts';
import { described, id, integer, list, type Of, object, optional, text } from './shapes.ts';
import type { Target } from './target.ts';

const VIOLATION = object('Violation', {
  field: text('as the command calls it, `--seats` for example'),
  message: text('the rule'),
});
/** A request field that breaks a rule of the contract. */
export type FieldError = Of<typeof VIOLATION>;

const SEATS = object('SeatUsage', {
  limit: integer('seats allowed; -1 is unlimited'),
  used: integer('seats taken'),
});

/** What is printed of an error as the member `error`. */
export const ERROR = object('Error', {
  code: text('what it is, for programs: `usage`, `hub_unreachable`, `license_unknown`, …'),
  message: text('what it is, for people'),
  field: optional(text('the option or argument that is at fault, or the field of the request')),
  sessionId: optional(id('chs', 'the charge session that the request left behind')),
  licenseIds: optional(list(id('lic'), 'licenses that were issued, and whose keys are perhaps lost')),
  seats: optional(described(SEATS, 'the seats of the license in question')),
  violations: optional(list(VIOLATION, 'the rules of the contract that the request breaks')),
  stack: optional(text('where it happened, with --debug')),
});

export type Failure = Omit<Of<typeof ERROR>, 'stack'> & {
  readonly exitCode: number;
  /** A name or id that nothing of its kind has. */
  readonly unknown?: { readonly kind: string; readonly value: string };
};

/** What the error is explained with: the hub that was called, and what the command set the request's fields with. */
export type Circumstances = {
  readonly target: Target | undefined;
  readonly givenFor: (field: string) => Given | undefined;
};

/** Errors of a program, which tell the person at the terminal nothing. */
const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError];

export async function describeError(error: unknown, about: Circumstances): Promise<Failure> {
  if (error instanceof PartialFailure) {
    const cause = await describeError(error.cause, about);
    const { licenseIds } = error;
    return {
      ...cause,
      ...(licenseIds.length > 0 && { licenseIds }),
      message: `${cause.message.replace(/\.?$/, '.')} ${error.message}`,
    };
  }
  if (error instanceof CliError)
    return { code: error.code, message: error.message, exitCode: error.exitCode };
  if (error instanceof Error && error.name === 'DataDirError')
    return { code: 'usage', message: error.message, exitCode: EXIT.usage };
  if (error instanceof Error && error.name === 'ConnectError') {
    const { describeConnectError } = await import('./describe-connect-error.ts'); // loads Connect
    return describeConnectError(error, about);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (MISTAKES.some((mistake) => error instanceof mistake)) {
    const unforeseen = `This should not have happened: ${message.replace(/\.?$/, '.')} --debug tells where it did.`;
    return { code: 'internal', message: unforeseen, exitCode: EXIT.failed };
  }
  return { code: 'internal', message, exitCode: EXIT.failed };
}
