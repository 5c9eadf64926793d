// The RPC port as the reference implementation of gRPC sees it.
import { once } from 'node:events';
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../../gen/grpc/health/v1/health_pb.ts';
import { Role } from '../../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../../../gen/hub/license/v1/license_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { activate } from '../../../support/network/rest.ts';
import { createGrpcClient, type GrpcClient } from './grpc-client.ts';

describe('gRPC by grpc-js', () => {
  let hub: TestHub;
  let client: GrpcClient;
  let stranger: GrpcClient;
  before(async () => {
    hub = await startHub();
    client = createGrpcClient(hub.rpcUrl, hub.token);
    stranger = createGrpcClient(hub.rpcUrl);
  });
  after(async () => {
    client.close();
    stranger.close();
    await hub.stop();
  });

  it('answers a call', async () => {
    const caller = await client.unary(AccessService.method.getCaller, {});
    expect(caller).to.deep.include({ name: 'local admin', role: Role.ADMIN });
  });

  it('answers many concurrent calls on one connection', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { seatLimit: -1 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, machine) =>
        client.unary(LicenseService.method.activate, {
          licenseKey,
          machineFingerprint: `machine-${machine}`,
        }),
      ),
    );
    expect(new Set(answers.map(({ license }) => license?.['seatId'])).size).to.equal(100);
  });

  it('returns errors with their code, and the typed detail in the trailers', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
    await activate(hub.gatewayUrl, licenseKey, 'another-machine');
    const error = await refusal(
      client.unary(LicenseService.method.activate, { licenseKey, machineFingerprint: 'machine-1' }),
    );
    expect(error.code).to.equal(status.RESOURCE_EXHAUSTED);
    const [sent] = error.metadata.get('grpc-status-details-bin');
    const rich = readStatus(Buffer.from(sent ?? ''));
    expect(rich).to.include({
      code: status.RESOURCE_EXHAUSTED,
      message: decodeURIComponent(error.details), // grpc-js decodes punctuation only in part
    });
    const [detail] = rich.details;
    expect(detail?.typeUrl).to.equal('type.googleapis.com/hub.error.v1.ErrorDetail');
    expect(fromBinary(ErrorDetailSchema, detail?.value ?? Buffer.of())).to.deep.include({
      code: 'seat_limit_reached',
      seats: { $typeName: 'hub.error.v1.SeatUsage', limit: 1, used: 1 },
    });
  });

  it('refuses calls without a token, but answers health checks', async () => {
    const error = await refusal(stranger.unary(LicenseAdminService.method.listApps, {}));
    expect(error.code).to.equal(status.UNAUTHENTICATED);
    expect(await stranger.unary(Health.method.check, {})).to.include({ status: ServingStatus.SERVING });
  });

  it('streams the health', async () => {
    const watch = stranger.stream(Health.method.watch, {});
    watch.on('error', () => {}); // grpc-js calls it an error to have cancelled
    const ended = new Promise<StatusObject>((resolve) => watch.on('status', resolve));
    const [first] = await once(watch, 'data');
    expect(first).to.include({ status: ServingStatus.SERVING });
    watch.cancel();
    const { code } = await ended;
    expect(code).to.equal(status.CANCELLED);
  });

  it('routes methods by their paths', async () => {
    const { check } = Health.method;
    const elsewhere = { ...check, name: 'Nothing' } as typeof check; // a method that is not in the contract
    expect((await refusal(stranger.unary(elsewhere, {}))).code).to.equal(status.UNIMPLEMENTED);
  });
});

async function refusal(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    return error as ServiceError; // grpc-js rejects with nothing else
  }
  throw new Error('the call was not refused');
}

type RichStatus = { code: number; message: string; details: { typeUrl: string; value: Uint8Array }[] };

/** Reads google.rpc.Status: 1 code, 2 message, 3 details, each an Any of 1 type_url and 2 value. */
function readStatus(bytes: Uint8Array): RichStatus {
  const read: RichStatus = { code: 0, message: '', details: [] };
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field] = reader.tag();
    if (field === 1) read.code = reader.int32();
    else if (field === 2) read.message = reader.string();
    else read.details.push(readAny(reader.bytes()));
  }
  return read;
}

function readAny(bytes: Uint8Array): RichStatus['details'][number] {
  const read: RichStatus['details'][number] = { typeUrl: '', value: Buffer.of() };
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field] = reader.tag();
    if (field === 1) read.typeUrl = reader.string();
    else read.value = reader.bytes();
  }
  return read;
}
