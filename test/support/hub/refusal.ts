// The codes of a call that the hub refuses.
import { type Code, ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';

/** The Connect code and the hub's own code of a call that has to fail. */
export async function refusal(call: Promise<unknown>): Promise<[Code, string | undefined]> {
  const error = await call.then(
    () => expect.fail('the call was not refused'),
    (thrown) => ConnectError.from(thrown),
  );
  return [error.code, error.findDetails(ErrorDetailSchema)[0]?.code];
}

/** The hub's own code of a call that has to fail. */
export async function refusalCode(call: Promise<unknown>): Promise<string | undefined> {
  return (await refusal(call))[1];
}
