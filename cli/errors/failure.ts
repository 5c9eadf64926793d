// The exit codes of commands, and the errors that carry them.

/** The exit codes of hubctl, as listed in its help. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  notAllowed: 4,
  differs: 5,
  interrupted: 130,
} as const;

/** An error whose message is written for the user. `code` is for programs (`--output json`). */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: number;

  constructor(code: string, exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** The command line is invalid; nothing was changed. */
export function usageError(message: string): CliError {
  return new CliError('usage', EXIT.usage, message);
}

/** The user stopped the command. `message` says what was done until then. */
export function interruptedError(message: string): CliError {
  return new CliError('interrupted', EXIT.interrupted, message);
}

/**
 * Standard output failed. A reader may close a list early (`| head`): exit code 0. After a change, the user
 * must know that it was made.
 */
export function outputError(error: NodeJS.ErrnoException, mayLeave: boolean): CliError {
  const { code, message } = error;
  const exitCode = mayLeave && code === 'EPIPE' ? EXIT.ok : EXIT.failed;
  const done = mayLeave ? '' : ' The change was made.';
  return new CliError(
    'output_failed',
    exitCode,
    `Cannot write to standard output (${code ?? message}).${done}`,
    { cause: error },
  );
}

/** A failure after part of the work was done: described like its `cause`, followed by `message`. */
export class PartialFailure extends Error {
  /** Issued licenses whose keys may be missing. */
  readonly licenseIds: readonly string[];

  constructor(message: string, cause: unknown, licenseIds: readonly string[] = []) {
    super(message, { cause });
    this.name = 'PartialFailure';
    this.licenseIds = licenseIds;
  }
}
