// What an error means to the person or program that called hubctl: a code, one line, an exit code.
import { CommanderError } from 'commander';
import type { FieldError } from './describe-connect-error.ts';
import { CliError, EXIT, PartialFailure } from './failure.ts';
import type { Target } from './target.ts';

export type Failure = {
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
  readonly field?: string;
  readonly seats?: { readonly limit: number; readonly used: number };
  readonly violations?: readonly FieldError[];
};

/** What the error is explained with: the hub that was called, and the names the command has for request fields. */
export type Circumstances = {
  readonly target: Target | undefined;
  readonly nameOf: (field: string) => string;
};

export async function describeError(error: unknown, about: Circumstances): Promise<Failure> {
  if (error instanceof PartialFailure) {
    const cause = await describeError(error.cause, about);
    return { ...cause, message: `${cause.message.replace(/\.?$/, '.')} ${error.message}` };
  }
  if (error instanceof CliError)
    return { code: error.code, message: error.message, exitCode: error.exitCode };
  if (error instanceof CommanderError) return usage(error);
  if (error instanceof Error && error.name === 'ConnectError') {
    const { describeConnectError } = await import('./describe-connect-error.ts'); // loads Connect
    return describeConnectError(error, about);
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'internal', message, exitCode: EXIT.failed };
}

/** Commander says "error: …" and puts its suggestion on a second line. */
function usage(error: CommanderError): Failure {
  const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
  return { code: 'usage', message, exitCode: EXIT.usage };
}
