// The token of a separate gateway. It can be replaced in its file while the gateway runs.
import { statSync } from 'node:fs';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { readVariable } from './secret-variables.ts';

/** Reads the token again; undefined if no file has it, or the file cannot be read. */
export type RereadToken = () => string | undefined;

/**
 * Sends the token with each call. If a core refuses it, reads the token again, and repeats the call with a new one: the
 * core has not begun it.
 */
export function authorizeCalls(token: { reveal(): string }, reread: RereadToken): Interceptor {
  let current = token.reveal();
  return (next) => async (request) => {
    const sent = current;
    request.header.set('authorization', `Bearer ${sent}`);
    try {
      return await next(request);
    } catch (error) {
      if (request.stream || ConnectError.from(error).code !== Code.Unauthenticated) throw error;
      // Another call may have read the new token since.
      if (sent === current) current = reread() ?? current;
      if (sent === current) throw error;
      request.header.set('authorization', `Bearer ${current}`);
      return next(request);
    }
  };
}

export const rereadCoreToken: RereadToken = () => {
  const file = process.env['HUB_CORE_TOKEN_FILE'];
  try {
    // A pipe can be read only once, and opening it again would block.
    if (!file || !statSync(file).isFile()) return undefined;
    return readVariable('HUB_CORE_TOKEN', process.env) || undefined;
  } catch {
    return undefined;
  }
};
