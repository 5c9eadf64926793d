// A call within the process is answered, and refused, as on the wire.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { Code, type ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { registerServiceToken } from '../../../../core/access/register-token.ts';
import { newServiceToken } from '../../../../core/access/token-format.ts';
import { systemClock } from '../../../../core/clock.ts';
import { type Hub, startHub } from '../../../../core/hub.ts';
import { Secret } from '../../../../core/secret.ts';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../../../gen/hub/license/v1/license_service_pb.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { transportTo } from '../../../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../../../support/hub/license.ts';
import { createMigratedDatabase } from '../../../support/postgres/databases.ts';
import { failureOf } from '../failure-of.ts';

describe('the in-process transport, compared with the wire', () => {
  let dataDir: string;
  let hub: Hub;
  let wire: Transport;
  let license: TestLicense;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'hub-test-'));
    const databaseUrl = await createMigratedDatabase();
    hub = await startHub(
      {
        databaseUrl: new Secret(databaseUrl),
        dataDir,
        host: '127.0.0.1',
        rpcPort: 0,
        masterKey: {},
        maxInFlight: 10,
        eventAllowNetworks: [],
        connectionsPerClient: 0,
        poolSize: 5,
        preparesDatabase: true,
        version: '0.0.0',
        payment: {
          gatewayAddress: { publicUrl: undefined, localUrl: () => undefined },
          callbackBudgetMs: 1_000,
          providerTimeoutMs: 1_000,
          sessionCallbacks: 100,
          providerQuestions: 1,
          retryDelayMs: 1_000,
          sweepAfterMs: [60_000],
        },
      },
      { logger: pino({ level: 'silent' }), metrics: createMetrics() },
    );
    license = await issueLicense(
      createClient(LicenseAdminService, transportTo(hub.rpcUrl, hub.adminToken.reveal())),
      {
        seatLimit: 1,
        limits: { projects: 3n },
      },
    );
    wire = createGrpcTransport({
      baseUrl: hub.rpcUrl,
      interceptors: [bearer(await serviceToken(databaseUrl))],
    });
    await licensesBy(wire).activate({ licenseKey: license.licenseKey, machineFingerprint: 'machine-1' });
  });
  after(async () => {
    await hub.stop(0);
    await rm(dataDir, { recursive: true, force: true });
  });

  it('returns the same responses', async () => {
    const ask = async (transport: Transport) => {
      const licenses = licensesBy(transport);
      const { checkedAt, ...status } = await licenses.checkStatus({ licenseId: license.licenseId });
      const jwks = await licenses.getJwks({ app: license.app });
      return { status, jwks, publicKey: await licenses.getPublicKey({ app: license.app }), checkedAt };
    };
    const [direct, remote] = [await ask(hub.transport), await ask(wire)];
    expect(direct.checkedAt?.$typeName).to.equal(remote.checkedAt?.$typeName);
    expect({ ...direct, checkedAt: 0 }).to.deep.equal({ ...remote, checkedAt: 0 });
  });

  const refused: Record<string, (transport: Transport) => Promise<unknown>> = {
    'an unknown license': (transport) => licensesBy(transport).checkStatus({ licenseId: 'lic_1' }),
    'a license without a free seat': (transport) =>
      licensesBy(transport).activate({ licenseKey: license.licenseKey, machineFingerprint: 'machine-2' }),
    'a fingerprint that breaks the rules of the contract': (transport) =>
      licensesBy(transport).activate({ licenseKey: license.licenseKey, machineFingerprint: 'two\nlines' }),
    'a request without anything in it': (transport) => licensesBy(transport).activate({}),
    'a call its role may not make': (transport) =>
      createClient(LicenseAdminService, transport).createApp({ slug: 'demo' }),
  };
  for (const [name, call] of Object.entries(refused)) {
    it(`refuses ${name} with the same code, message and details`, async () => {
      const [direct, remote] = [await failureOf(call(hub.transport)), await failureOf(call(wire))];
      expect(describeError(direct)).to.deep.equal(describeError(remote));
      expect(direct.code).to.be.oneOf([
        Code.NotFound,
        Code.ResourceExhausted,
        Code.InvalidArgument,
        Code.PermissionDenied,
      ]);
    });
  }
});

function licensesBy(transport: Transport) {
  return createClient(LicenseService, transport);
}

function bearer(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };
}

async function serviceToken(databaseUrl: string): Promise<string> {
  const pool = new pg.Pool({ connectionString: databaseUrl });
  const token = newServiceToken();
  await registerServiceToken(pool, systemClock, token, { name: 'shop', role: 'gateway' });
  await pool.end();
  return token;
}

function describeError(error: ConnectError): object {
  return {
    code: error.code,
    message: error.rawMessage,
    refusals: error.findDetails(ErrorDetailSchema),
    violations: error.findDetails(ViolationsSchema),
    details: error.details.length,
  };
}
