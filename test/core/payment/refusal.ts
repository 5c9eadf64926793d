// What a refused call says.
import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';

/** The hub's own code and the field at fault, and the message, of a call that has to be refused. */
export async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => expect.fail('the call was not refused'),
    (thrown) => ConnectError.from(thrown),
  );
  const detail = error.findDetails(ErrorDetailSchema)[0];
  return { code: detail?.code, field: detail?.field, message: error.rawMessage };
}
