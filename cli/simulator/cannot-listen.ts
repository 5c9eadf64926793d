// Why a simulator does not start: its port.
import { CliError, EXIT } from '../failure.ts';

/** @param option By which the port was, or can be, chosen. */
export function cannotListen(
  { code, message }: NodeJS.ErrnoException,
  port: number,
  option: string,
): CliError {
  const why = code === 'EADDRINUSE' ? 'another program listens on it' : message;
  return new CliError(
    'cannot_listen',
    EXIT.failed,
    `Port ${port} cannot be used: ${why}. Choose another with ${option}; 0 takes any free one.`,
  );
}
