// Errors repeat words of the caller, and yet reach gRPC clients, which take them in headers.
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp } from '../../../support/hub/license.ts';
import { failureOf } from '../failure-of.ts';
import { createGrpcClient, type GrpcClient } from '../server/grpc-client.ts';

describe('an error with a long text', () => {
  let hub: TestHub;
  let grpc: GrpcClient;
  before(async () => {
    hub = await startHub();
    grpc = createGrpcClient(hub.rpcUrl, hub.token);
  });
  after(() => {
    grpc.close();
    return hub.stop();
  });

  it('keeps its code, its detail and the start of its message', async () => {
    const kid = '漢'.repeat(10_000);
    const app = await createApp(hub.admin);
    const error = ConnectError.from(await failureOf(hub.admin.withdrawSigningKey({ app, kid })));
    expect(error.rawMessage).to.match(/^the app has no signing key "漢+…$/);
    expect(error.findDetails(ErrorDetailSchema)[0]?.code).to.equal('signing_key_unknown');
    const { withdrawSigningKey } = LicenseAdminService.method;
    const { cause } = await failureOf(grpc.unary(withdrawSigningKey, { app, kid }));
    expect(cause).to.include({ code: status.NOT_FOUND });
  });

  it('keeps the first of many violations, with truncated keys', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `${index}漢`.repeat(500));
    const request = { app: 'a', name: 'free', limits: Object.fromEntries(names.map((name) => [name, -5n])) };
    const error = ConnectError.from(
      await failureOf(createClient(LicenseAdminService, hub.transport).setLimitProfile(request)),
    );
    expect(error.code).to.equal(Code.InvalidArgument);
    const [found] = error.findDetails(ViolationsSchema);
    expect(found?.violations).to.have.length(6);
    const { cause } = await failureOf(grpc.unary(LicenseAdminService.method.setLimitProfile, request));
    expect(cause).to.include({ code: status.INVALID_ARGUMENT });
  });
});
