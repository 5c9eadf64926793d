// A real hub for tests: core and gateway in this process, with a separate database.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { DestinationStream } from 'pino';
import { createLogger } from '../../../cli/serve/logger.ts';
import { runHub } from '../../../cli/serve/run-hub.ts';
import type { Settings } from '../../../cli/serve/setting-table.ts';
import { readSettings } from '../../../cli/serve/settings.ts';
import type { Clock } from '../../../core/clock.ts';
import { Secret } from '../../../core/secret.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { createDatabaseWithMonths, createMigratedDatabase } from '../postgres/databases.ts';

export type TestHub = {
  readonly gatewayUrl: string;
  readonly rpcUrl: string;
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** An admin token. */
  readonly token: string;
  /** The RPC port, with the admin token. */
  readonly transport: Transport;
  readonly admin: Client<typeof LicenseAdminService>;
  stop(): Promise<void>;
};

/** Settings with the secret ones as plain strings. */
type PlainSettings = {
  readonly [K in keyof Settings]?: Secret<string> extends Settings[K] ? string : Settings[K];
};

export type TestHubOptions = {
  /** The rate and guess limits are off by default. */
  readonly settings?: PlainSettings;
  readonly clock?: Clock;
  /** The destination of the log. The default is none. */
  readonly log?: DestinationStream;
  /** Shares the database and the master key of another test hub. */
  readonly beside?: Pick<TestHub, 'dataDir' | 'databaseUrl'>;
};

export async function startHub({ settings = {}, clock, log, beside }: TestHubOptions = {}): Promise<TestHub> {
  const dataDir = beside?.dataDir ?? (await mkdtemp(join(tmpdir(), 'hub-test-')));
  // Another clock may need other months.
  const create = clock === undefined ? createDatabaseWithMonths : createMigratedDatabase;
  const databaseUrl = settings.databaseUrl ?? beside?.databaseUrl ?? (await create());
  const off = { licenseRatePerMinute: '0', wrongGuesses: '0', failedAttemptsPerMinute: '0' };
  const base = readSettings({ port: '0', rpcPort: '0', ...off }, { DATABASE_URL: databaseUrl });
  const logger = createLogger(log ? 'trace' : 'silent', log ?? process.stderr);
  const hub = await runHub({ ...base, ...sealed(settings) }, { dataDir, logger, ...(clock && { clock }) });
  const { core, gatewayUrl } = hub;
  if (core === undefined || gatewayUrl === undefined) throw new Error('test hubs run in the role all');
  const transport = transportTo(core.rpcUrl, core.adminToken.reveal());
  return {
    gatewayUrl,
    rpcUrl: core.rpcUrl,
    databaseUrl,
    dataDir,
    token: core.adminToken.reveal(),
    transport,
    admin: createClient(LicenseAdminService, transport),
    async stop() {
      await hub.stop(1_000);
      if (beside === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** `databaseUrl` is a base setting. */
function sealed({
  databaseUrl: _,
  databaseDirectUrl,
  redisUrl,
  masterKey,
  coreToken,
  smtpUrl,
  ...settings
}: PlainSettings): Partial<Settings> {
  return {
    ...settings,
    ...(databaseDirectUrl !== undefined && { databaseDirectUrl: new Secret(databaseDirectUrl) }),
    ...(redisUrl !== undefined && { redisUrl: new Secret(redisUrl) }),
    ...(masterKey !== undefined && { masterKey: new Secret(masterKey) }),
    ...(coreToken !== undefined && { coreToken: new Secret(coreToken) }),
    ...(smtpUrl !== undefined && { smtpUrl: new Secret(smtpUrl) }),
  };
}

/** Connect over HTTP/1.1 with a bearer token, from a local address. */
export function transportTo(rpcUrl: string, token: string, localAddress?: string): Transport {
  return createConnectTransport({
    baseUrl: rpcUrl,
    httpVersion: '1.1',
    ...(localAddress && { nodeOptions: { localAddress } }),
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${token}`);
        return next(request);
      },
    ],
  });
}
