// What a refused call says.
import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';

/** The hub's own code, the field at fault, the session left behind and the message of a call that has to be refused. */
export async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => expect.fail('the call was not refused'),
    (thrown) => ConnectError.from(thrown),
  );
  const detail = error.findDetails(ErrorDetailSchema)[0];
  const { code, field, sessionId } = detail ?? {};
  return { code, field, ...(sessionId && { sessionId }), message: error.rawMessage };
}
