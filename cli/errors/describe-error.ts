// Describes an error to the person or program that called hubctl: a code, one line, an exit code.
import { messageOf } from '../../lib/caught-error.ts';
import type { ErrorContext, Failure } from './error-document.ts';
import { CliError, EXIT, PartialFailure } from './failure.ts';

/** Programming errors, whose messages do not help the user. */
const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError];

export async function describeError(error: unknown, about: ErrorContext): Promise<Failure> {
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
  const message = messageOf(error);
  if (MISTAKES.some((mistake) => error instanceof mistake)) {
    const unforeseen = `This is a bug in hubctl: ${message.replace(/\.?$/, '.')} --debug shows where.`;
    return { code: 'internal', message: unforeseen, exitCode: EXIT.failed };
  }
  return { code: 'internal', message, exitCode: EXIT.failed };
}
