// What a call fails with.
import { ConnectError } from '@connectrpc/connect';

/** The failure as a ConnectError. Rejects if the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error('the call did not fail');
}
