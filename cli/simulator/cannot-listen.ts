// Explains why the simulator's port cannot be used.
import { CliError, EXIT } from '../errors/failure.ts';

/** @param option The option that sets the port. */
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
