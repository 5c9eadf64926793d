// How a command says that it failed: the exit codes, and the error that carries one.

/** Exit codes of hubctl, as its help states them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  notAllowed: 4,
  interrupted: 130,
} as const;

/** A failure whose message is written for the person at the terminal. `code` is for programs (`--output json`). */
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

/** The command was called wrongly and has done nothing. */
export function usageError(message: string): CliError {
  return new CliError('usage', EXIT.usage, message);
}

/** The person at the terminal stopped the command. `message` says what was done until then. */
export function interruptedError(message: string): CliError {
  return new CliError('interrupted', EXIT.interrupted, message);
}

/**
 * What was to be printed, and standard output did not take. A reader may leave a list early (`| head`): exit code 0. Of
 * what a command did, he has to know that it is done.
 */
export function outputError(error: NodeJS.ErrnoException, mayLeave: boolean): CliError {
  const { code, message } = error;
  const exitCode = mayLeave && code === 'EPIPE' ? EXIT.ok : EXIT.failed;
  const done = mayLeave ? '' : ' What the command was to change is changed.';
  return new CliError(
    'output_failed',
    exitCode,
    `Standard output takes no more (${code ?? message}).${done}`,
    { cause: error },
  );
}

/** A failure after part of the work was done: reported as its `cause` is, followed by `message`. */
export class PartialFailure extends Error {
  /** The licenses that were issued, and whose keys are perhaps lost. */
  readonly licenseIds: readonly string[];

  constructor(message: string, cause: unknown, licenseIds: readonly string[] = []) {
    super(message, { cause });
    this.name = 'PartialFailure';
    this.licenseIds = licenseIds;
  }
}
