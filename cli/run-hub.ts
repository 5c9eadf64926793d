// Composes a running hub from the core and the gateway, as `serve` and `demo` do.
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { type Hub, startHub } from '../core/hub.ts';
import { listen, urlOf } from '../core/rpc/listener.ts';
import { openRedis } from '../core/storage/redis.ts';
import { createGateway } from '../gateway/gateway.ts';
import { AccessService } from '../gen/hub/access/v1/access_service_pb.ts';
import type { Settings } from './settings.ts';
import { packageVersion } from './version.ts';

export type RunningHub = {
  /** Undefined in the role core. */
  readonly gatewayUrl: string | undefined;
  /** The core; undefined in the role gateway. */
  readonly core: Hub | undefined;
  /** Stops accepting, finishes what is under way for at most `graceMs`, closes everything. */
  stop(graceMs: number): Promise<void>;
};

export type RunOptions = {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly onFatal?: (error: Error) => void;
};

export async function runHub(settings: Settings, options: RunOptions): Promise<RunningHub> {
  const { logger } = options;
  await using undo = new AsyncDisposableStack();
  let gateway: { url: string; stop(graceMs: number): Promise<void> } | undefined;
  const core =
    settings.role === 'gateway' ? undefined : await startCore(settings, options, () => gateway?.url);
  undo.defer(async () => core?.stop(0));
  gateway =
    settings.role === 'core'
      ? undefined
      : await startGateway(settings, core?.transport ?? (await remoteCore(settings)), logger);
  undo.defer(async () => gateway?.stop(0));
  await core?.dataDir.announce({
    pid: process.pid,
    rpc: core.rpcUrl,
    ...(gateway && { gateway: gateway.url }),
  });
  undo.move(); // started: from now on it is the caller's to stop
  return {
    gatewayUrl: gateway?.url,
    core,
    async stop(graceMs) {
      // The gateway first: its last requests still need the core.
      await gateway?.stop(graceMs);
      await core?.dataDir.withdraw();
      await core?.stop(graceMs);
    },
  };
}

function startCore(
  settings: Settings,
  { dataDir, ...parts }: RunOptions,
  gatewayUrl: () => string | undefined,
): Promise<Hub> {
  return startHub(
    {
      version: packageVersion(),
      databaseUrl: settings.databaseUrl,
      dataDir,
      host: settings.rpcHost,
      rpcPort: settings.rpcPort,
      masterKey: { text: settings.masterKey, file: settings.masterKeyFile },
      poolSize: settings.databasePool,
      payment: {
        // On one machine providers reach the gateway where it listens; elsewhere somebody has to say where.
        publicUrl: () => settings.publicUrl ?? gatewayUrl(),
        callbackBudgetMs: settings.callbackBudgetMs,
        providerTimeoutMs: settings.providerTimeoutMs,
        retryDelayMs: settings.retryDelaySeconds * 1000,
        sweepAfterMs: settings.sweepAfterMs,
      },
    },
    parts,
  );
}

async function startGateway(settings: Settings, transport: Transport, logger: Logger) {
  const redis = settings.redisUrl ? openRedis({ url: settings.redisUrl, ...redisLog(logger) }) : undefined;
  const { server, close } = createGateway({
    transport,
    logger,
    ratePerMinute: settings.licenseRatePerMinute,
    ...(redis && { redis }),
    trustedProxies: settings.trustedProxies,
    proxyHeader: settings.proxyHeader,
  });
  try {
    await listen(server, settings.port, settings.host, '--port or HUB_PORT');
  } catch (error) {
    redis?.disconnect();
    throw error;
  }
  return {
    url: urlOf(server),
    async stop(graceMs: number) {
      await close(graceMs);
      redis?.disconnect();
    },
  };
}

/** One line when Redis goes and one when it comes back, however often it is tried in between. */
function redisLog(logger: Logger) {
  let away = false;
  return {
    onError({ message }: Error): void {
      if (!away) logger.warn(`Redis does not answer, requests are counted in memory: ${message}`);
      away = true;
    },
    onReady(): void {
      if (away) logger.info('Redis answers again');
      away = false;
    },
  };
}

/** A core in another process, over HTTP/2. */
async function remoteCore({ coreUrl, coreToken }: Settings): Promise<Transport> {
  const transport = createConnectTransport({
    baseUrl: coreUrl ?? '', // the role gateway has one
    httpVersion: '2',
    useBinaryFormat: true,
    defaultTimeoutMs: 10_000,
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${coreToken}`);
        return next(request);
      },
    ],
  });
  // A core that is away may come; one that does not know the token never will.
  await createClient(AccessService, transport)
    .getCaller({})
    .catch((error) => {
      if (ConnectError.from(error).code !== Code.Unauthenticated) return;
      throw new Error(`HUB_CORE_TOKEN: the core at ${coreUrl} does not accept this token`);
    });
  return transport;
}
