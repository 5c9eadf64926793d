// A gateway on a free port with a fake core, for tests that do not depend on the core's answers.
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Code, ConnectError, createRouterTransport, type ServiceImpl } from '@connectrpc/connect';
import { pino } from 'pino';
import { createValidationInterceptor } from '../../core/rpc/interceptors/validation.ts';
import { createGateway, type GatewayOptions } from '../../gateway/server/server.ts';
import { Health, HealthCheckResponse_ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import { type ErrorDetail, ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';

type LogLine = { level: number; msg: string; [name: string]: unknown };

export type TestGateway = {
  url: string;
  port: number;
  /** What the gateway has logged so far. */
  logs: LogLine[];
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Posts JSON. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  /** How many connections are open. */
  connections(): Promise<number>;
  close(graceMs: number): Promise<void>;
};

export type FakeCore = Partial<ServiceImpl<typeof LicenseService>> & {
  check?: ServiceImpl<typeof Health>['check'];
  receiveCallback?: ServiceImpl<typeof CallbackService>['receiveCallback'];
  getReturnAddress?: ServiceImpl<typeof CallbackService>['getReturnAddress'];
};

/** Starts a gateway; without `core`, every RPC of licenses and callbacks succeeds. */
export async function startGateway(
  options: Partial<GatewayOptions> = {},
  core: FakeCore = {},
): Promise<TestGateway> {
  const logs: LogLine[] = [];
  const { check, receiveCallback = () => RECEIVED, getReturnAddress, ...overrides } = core;
  const transport = createRouterTransport(
    ({ service }) => {
      service(LicenseService, { ...answers, ...overrides });
      service(CallbackService, { receiveCallback, ...(getReturnAddress && { getReturnAddress }) });
      service(Health, { check: check ?? (() => ({ status: HealthCheckResponse_ServingStatus.SERVING })) });
    },
    { router: { interceptors: [createValidationInterceptor()] } },
  );
  const gateway = createGateway({
    transport,
    logger: pino({ level: 'debug' }, { write: (line: string) => logs.push(JSON.parse(line)) }),
    ratePerMinute: 0,
    wrongGuesses: 0,
    maxInFlight: 1_000,
    connectionsPerClient: 0,
    trustedProxies: [],
    proxyHeader: 'x-forwarded-for',
    ...options,
  });
  await new Promise<void>((resolve) => {
    gateway.server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = gateway.server.address() as AddressInfo; // it listens on TCP
  const url = `http://127.0.0.1:${port}`;
  const headers = { 'content-type': 'application/json' };
  return {
    url,
    port,
    logs,
    get: (path, init = {}) => fetch(url + path, init),
    post: (path, body, init = {}) =>
      fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), ...init }),
    connections: () => promisify(gateway.server.getConnections.bind(gateway.server))(),
    close: gateway.close,
  };
}

/** The JSON object in the body of a response. */
export async function objectIn(response: Response): Promise<{ [name: string]: unknown }> {
  return (await response.json()) as { [name: string]: unknown }; // the assertions that follow say what it holds
}

/** The error by which the core refuses a request for a reason of its own. */
export function refusal(connectCode: Code, detail: Partial<Omit<ErrorDetail, '$typeName'>>): ConnectError {
  const value = create(ErrorDetailSchema, detail);
  return new ConnectError('Refused for a reason.', connectCode, undefined, [
    { desc: ErrorDetailSchema, value },
  ]);
}

const RECEIVED = { body: 'received', contentType: 'text/plain' };

const CHECKED_AT = new Date('2026-03-01T10:20:30.456Z');

const answers: ServiceImpl<typeof LicenseService> = {
  activate: ({ machineFingerprint }) => ({
    license: { licenseId: 'lic_1', machineFingerprint, limits: { seats: -1 } },
    publicKeyPem: PEM,
  }),
  deactivate: () => ({ released: true }),
  checkStatus: ({ licenseId }) => ({
    licenseId,
    seats: { limit: 3, used: 1 },
    checkedAt: timestampFromDate(CHECKED_AT),
    recheckAfterSeconds: 3600,
  }),
  getPublicKey: () => ({ publicKeyPem: PEM, kid: 'kid-1' }),
  getJwks: () => ({
    keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'kid-1', alg: 'ES256', use: 'sig' }],
  }),
  getFreeLimits: () => ({ limits: { projects: 3n, exports: -1n } }),
};

const PEM = '-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n';
