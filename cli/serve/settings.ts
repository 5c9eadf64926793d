// The settings of a hub: one table of flags, environment variables, defaults and valid values.
import { type Command, Option } from 'commander';
import { Secret } from '../../core/secret.ts';
import { schemaName } from '../../core/storage/connection/database-address.ts';
import { parseRedisAddress } from '../../core/storage/redis/redis-address.ts';
import { readMasterKeys } from '../../core/storage/secrets/master-key.ts';
import { MAX_POINTS } from '../../gateway/limits/max-points.ts';
import { parseTrustedProxies } from '../../gateway/server/client-ip.ts';
import { parseOrigins } from '../../gateway/server/cors.ts';
import { messageOf } from '../../lib/caught-error.ts';
import { usageError } from '../errors/failure.ts';
import { readVariable, requirePublic, variableInUse } from './secret-variables.ts';
import {
  databaseUrl,
  integer,
  oneOf,
  onOrOff,
  publicUrl,
  risingSeconds,
  text,
  token,
  url,
  zeroOrOne,
} from './setting-values.ts';

export type Settings = {
  readonly role: 'all' | 'core' | 'gateway';
  readonly workers: number;
  readonly host: string;
  readonly port: number;
  readonly rpcHost: string;
  readonly rpcPort: number;
  readonly rpcTlsCert: string | undefined;
  readonly rpcTlsKey: string | undefined;
  readonly rpcTlsClientCa: string | undefined;
  readonly publicUrl: string | undefined;
  readonly databaseUrl: Secret<string> | undefined;
  readonly databaseSchema: string | undefined;
  readonly databasePooler: 'none' | 'transaction';
  readonly databaseDirectUrl: Secret<string> | undefined;
  readonly databasePool: number;
  readonly redisUrl: Secret<string> | undefined;
  readonly redisCluster: boolean;
  readonly redisTlsCa: string | undefined;
  readonly masterKey: Secret<string> | undefined;
  readonly masterKeyFile: string | undefined;
  readonly auditHeadFile: string | undefined;
  readonly licenseRatePerMinute: number;
  readonly wrongGuesses: number;
  readonly failedAttemptsPerMinute: number;
  readonly maxInFlight: number;
  readonly connectionsPerClient: number;
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: 'x-forwarded-for' | 'forwarded';
  readonly corsOrigins: readonly string[];
  readonly docs: boolean;
  readonly coreUrl: string | undefined;
  readonly coreToken: Secret<string> | undefined;
  readonly coreCa: string | undefined;
  readonly coreClientCert: string | undefined;
  readonly coreClientKey: string | undefined;
  readonly callbackBudgetMs: number;
  readonly providerTimeoutMs: number;
  readonly sessionCallbacks: number;
  readonly providerQuestions: number;
  readonly retryDelaySeconds: number;
  /** Milliseconds. */
  readonly sweepAfterMs: readonly number[];
  readonly drainSeconds: number | undefined;
  readonly logLevel: string;
  readonly logFile: string | undefined;
  readonly logFileMegabytes: number;
  readonly logFilesKept: number;
};

export type Setting<K extends keyof Settings = keyof Settings> = {
  readonly key: K;
  readonly env: string;
  /** Without the dashes. Secret settings have none, since other users can read the command line. */
  readonly flag: string | undefined;
  /** The placeholder of the value in the help: `<port>` */
  readonly placeholder: string | undefined;
  /** The allowed words. */
  readonly words?: readonly string[];
  readonly description: string;
  /** The default as text; undefined if unset. */
  readonly fallback: string | undefined;
  /** Throws an Error that describes a valid value. */
  readonly parse: (text: string) => Settings[K];
};

export const SETTINGS: readonly Setting[] = [
  setting(
    'role',
    'HUB_ROLE',
    'role <role>',
    'all',
    oneOf('all', 'core', 'gateway'),
    'role of this process: all, core or gateway',
  ),
  setting(
    'workers',
    'HUB_WORKERS',
    'workers <n>',
    '1',
    integer(1, 64),
    'processes that share these ports; each has its own pool, and its own limits without Redis',
  ),
  setting('host', 'HUB_HOST', 'host <address>', '127.0.0.1', text, 'bind address of the public gateway'),
  setting(
    'port',
    'HUB_PORT',
    'port <port>',
    '5099',
    integer(0, 65_535),
    'port of the public gateway; 0 takes any free one',
  ),
  setting(
    'rpcHost',
    'HUB_RPC_HOST',
    'rpc-host <address>',
    '127.0.0.1',
    text,
    'bind address of the internal port',
  ),
  setting(
    'rpcPort',
    'HUB_RPC_PORT',
    'rpc-port <port>',
    '5100',
    integer(0, 65_535),
    'internal port: RPC and /metrics, in the role gateway /metrics only; 0 takes any free one',
  ),
  setting(
    'rpcTlsCert',
    'HUB_RPC_TLS_CERT',
    'rpc-tls-cert <file>',
    undefined,
    text,
    'PEM file: certificate chain of the RPC port; without it the port uses plaintext',
  ),
  setting(
    'rpcTlsKey',
    'HUB_RPC_TLS_KEY',
    'rpc-tls-key <file>',
    undefined,
    text,
    'PEM file, mode 0600: private key of that certificate',
  ),
  setting(
    'rpcTlsClientCa',
    'HUB_RPC_TLS_CLIENT_CA',
    'rpc-tls-client-ca <file>',
    undefined,
    text,
    'PEM file: certificate authority of client certificates, which can replace tokens',
  ),
  setting(
    'publicUrl',
    'HUB_PUBLIC_URL',
    'public-url <url>',
    undefined,
    publicUrl,
    'public base URL of the gateway, for callbacks; without it only a simulator on this machine can call back',
  ),
  setting(
    'databaseUrl',
    'DATABASE_URL',
    'database-url <url>',
    undefined,
    secret(databaseUrl),
    'PostgreSQL 15 or later, as a libpq connection string; without it the hub runs an embedded PostgreSQL in the data directory',
  ),
  setting(
    'databaseSchema',
    'HUB_DATABASE_SCHEMA',
    'database-schema <schema>',
    undefined,
    schemaName,
    "schema of the hub's tables, created if missing (default: the first in the role's search path)",
  ),
  setting(
    'databasePooler',
    'HUB_DATABASE_POOLER',
    'database-pooler <mode>',
    'none',
    oneOf('none', 'transaction'),
    'pool mode of the connection pooler at DATABASE_URL: transaction, or none if there is no pooler',
  ),
  setting(
    'databaseDirectUrl',
    'HUB_DATABASE_DIRECT_URL',
    'database-direct-url <url>',
    undefined,
    secret(databaseUrl),
    'direct address of the same database, for migrations, backups and LISTEN; without it hubs poll for status changes',
  ),
  setting(
    'databasePool',
    'HUB_DATABASE_POOL',
    'database-pool <n>',
    '10',
    integer(2, 1000),
    'maximum size of the connection pool of each process; it opens one more connection for LISTEN',
  ),
  setting(
    'redisUrl',
    'REDIS_URL',
    'redis-url <url>',
    undefined,
    secret(redisUrl),
    'Redis for counting requests across hubs: redis://, rediss:// (TLS), redis-sentinel://host1,host2/name; without it each process counts in memory',
  ),
  setting(
    'redisCluster',
    'REDIS_CLUSTER',
    'redis-cluster <0|1>',
    '0',
    zeroOrOne,
    'whether REDIS_URL names nodes of a Redis Cluster: 0 or 1',
  ),
  setting(
    'redisTlsCa',
    'REDIS_TLS_CA',
    'redis-tls-ca <file>',
    undefined,
    text,
    'PEM file: certificate authority of Redis, for a rediss:// address',
  ),
  setting(
    'masterKey',
    'HUB_MASTER_KEY',
    undefined,
    undefined,
    secret(masterKeys),
    'master keys, one per line, each 32 bytes in base64 or hex',
  ),
  setting(
    'masterKeyFile',
    'HUB_MASTER_KEY_FILE',
    'master-key-file <file>',
    undefined,
    text,
    'file of master keys, mode 0600 (default: master.key in the data directory, created at the first start)',
  ),
  setting(
    'auditHeadFile',
    'HUB_AUDIT_HEAD_FILE',
    'audit-head-file <file>',
    undefined,
    text,
    'file for the head of the audit chain (default: audit-head in the data directory)',
  ),
  setting(
    'licenseRatePerMinute',
    'HUB_LICENSE_RATE_PER_MINUTE',
    'license-rate-per-minute <n>',
    '60',
    integer(0, MAX_POINTS),
    'license requests per minute and client IP; 0 is off',
  ),
  setting(
    'wrongGuesses',
    'HUB_WRONG_GUESSES',
    'wrong-guesses <n>',
    '20',
    integer(0, 1_000_000),
    'wrong license keys or fingerprints per client in ten minutes, and five times as many for all unknown clients together; 0 is off',
  ),
  setting(
    'failedAttemptsPerMinute',
    'HUB_FAILED_ATTEMPTS_PER_MINUTE',
    'failed-attempts-per-minute <n>',
    '30',
    integer(0, 1_000_000),
    'wrong service tokens per minute and address on the RPC port; 0 is off',
  ),
  setting(
    'maxInFlight',
    'HUB_MAX_IN_FLIGHT',
    'max-in-flight <n>',
    '1000',
    integer(1, 100_000),
    'concurrent requests per port; further requests get 503 at once',
  ),
  setting(
    'connectionsPerClient',
    'HUB_CONNECTIONS_PER_CLIENT',
    'connections-per-client <n>',
    '500',
    integer(0, 10_000),
    'connections per port and client address, except trusted proxies; 0 is off',
  ),
  setting(
    'trustedProxies',
    'HUB_TRUSTED_PROXIES',
    'trusted-proxies <addresses>',
    '',
    parseTrustedProxies,
    'addresses and CIDR ranges of the proxies in front of the gateway, separated by commas',
  ),
  setting(
    'proxyHeader',
    'HUB_PROXY_HEADER',
    'proxy-header <header>',
    'x-forwarded-for',
    oneOf('x-forwarded-for', 'forwarded'),
    'header in which those proxies send the client address: x-forwarded-for or forwarded',
  ),
  setting(
    'corsOrigins',
    'HUB_CORS_ORIGINS',
    'cors-origins <origins>',
    '',
    parseOrigins,
    'origins of web pages that may call the license endpoints, separated by commas (default: none)',
  ),
  setting(
    'docs',
    'HUB_DOCS',
    'docs <on|off>',
    'on',
    onOrOff,
    'whether the gateway serves its reference at /docs and /openapi.json: on or off',
  ),
  setting(
    'coreUrl',
    'HUB_CORE_URL',
    'core-url <url>',
    undefined,
    url('http:', 'https:'),
    'RPC address of the core, for the role gateway',
  ),
  setting(
    'coreToken',
    'HUB_CORE_TOKEN',
    undefined,
    undefined,
    secret(token),
    'service token for the core, for the role gateway',
  ),
  setting(
    'coreCa',
    'HUB_CORE_CA',
    'core-ca <file>',
    undefined,
    text,
    'PEM file: certificate authority of the core, for an https address',
  ),
  setting(
    'coreClientCert',
    'HUB_CORE_CLIENT_CERT',
    'core-client-cert <file>',
    undefined,
    text,
    'PEM file: client certificate for the core, in place of a token',
  ),
  setting(
    'coreClientKey',
    'HUB_CORE_CLIENT_KEY',
    'core-client-key <file>',
    undefined,
    text,
    'PEM file: private key of that certificate',
  ),
  setting(
    'callbackBudgetMs',
    'HUB_CALLBACK_BUDGET_MS',
    'callback-budget-ms <ms>',
    '2500',
    integer(1, 8_000),
    'time limit in milliseconds for the response to a callback, processed or not',
  ),
  setting(
    'providerTimeoutMs',
    'HUB_PROVIDER_TIMEOUT_MS',
    'provider-timeout-ms <ms>',
    '30000',
    integer(100, 120_000),
    'timeout in milliseconds for a call to a payment provider',
  ),
  setting(
    'sessionCallbacks',
    'HUB_SESSION_CALLBACKS',
    'session-callbacks <n>',
    '100',
    integer(1, 1_000),
    'callbacks per charge session that the journal stores; further ones are only counted, and the session is verified',
  ),
  setting(
    'providerQuestions',
    'HUB_PROVIDER_QUESTIONS',
    'provider-questions <n>',
    '16',
    integer(1, 64),
    'verifications that a hub runs at the same time for one slot; further ones wait',
  ),
  setting(
    'retryDelaySeconds',
    'HUB_RETRY_DELAY_SECONDS',
    'retry-delay-seconds <seconds>',
    '5',
    integer(1, 3_600),
    'seconds until the hub first queries the provider again for a waiting callback; later pauses grow, to one hour at most',
  ),
  setting(
    'sweepAfterMs',
    'HUB_SWEEP_AFTER_SECONDS',
    'sweep-after-seconds <seconds>',
    '120,600,3600',
    risingSeconds,
    'seconds from the creation of an unpaid session to each verification; the last interval repeats for a day',
  ),
  setting(
    'drainSeconds',
    'HUB_DRAIN_SECONDS',
    'drain-seconds <seconds>',
    undefined,
    integer(0, 3_600),
    'seconds between a stop signal and the end of serving, with /readyz at 503 (default: 5, and 0 on a terminal)',
  ),
  setting(
    'logLevel',
    'HUB_LOG_LEVEL',
    'log-level <level>',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    'minimum log level',
  ),
  setting(
    'logFile',
    'HUB_LOG_FILE',
    'log-file <file>',
    undefined,
    text,
    'write the log to numbered files (hub.log becomes hub.1.log, hub.2.log, …) instead of standard output',
  ),
  setting(
    'logFileMegabytes',
    'HUB_LOG_FILE_MEGABYTES',
    'log-file-megabytes <n>',
    '100',
    integer(1, 10_000),
    'size after which a new log file begins',
  ),
  setting(
    'logFilesKept',
    'HUB_LOG_FILES_KEPT',
    'log-files-kept <n>',
    '5',
    integer(1, 1_000),
    'number of full log files to keep',
  ),
];

/** Declares a flag for every setting that has one, or for the named ones only. */
export function addSettings(command: Command, only?: readonly (keyof Settings)[]): Command {
  for (const { key, flag, placeholder, env, description, fallback } of SETTINGS) {
    if (flag === undefined || (only && !only.includes(key))) continue;
    const note = fallback ? `; default ${fallback}` : '';
    command.addOption(new Option(`--${flag} ${placeholder}`, `${description} (env: ${env}${note})`));
  }
  return command;
}

/**
 * Reads flags, else the environment and the files it names, else the defaults; an empty variable counts as
 * unset.
 * @throws CliError with one line for each invalid value, which names its source
 */
export function readSettings(
  flags: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): Settings {
  const problems: string[] = [];
  const wrong = new Set<keyof Settings>();
  const read: Partial<Record<keyof Settings, unknown>> = {};
  for (const { key, env, flag, fallback, parse } of SETTINGS) {
    const given = flag === undefined ? undefined : flags[camelCase(flag)];
    const secret = SECRETS.includes(key);
    const variable = secret ? variableInUse(env, environment) : env;
    const source = typeof given === 'string' ? `--${flag}` : variable;
    try {
      if (secret && typeof given === 'string') requirePublic(env, given);
      const written = secret ? readVariable(env, environment) : environment[env] || undefined;
      const value = typeof given === 'string' ? given : (written ?? fallback);
      read[key] = value === undefined ? undefined : parse(value);
    } catch (error) {
      problems.push(`${source}: ${messageOf(error)}`);
      wrong.add(key);
    }
  }
  const settings = read as Settings; // every key of the table was read, or there are problems
  for (const { among, is, message } of CONTRADICTIONS) {
    if (!among.some((key) => wrong.has(key)) && is(settings)) problems.push(message);
  }
  if (problems.length > 0) throw usageError(problems.join('\n'));
  return settings;
}

/** Settings that are or may contain a secret and can be in a file. The master keys have their own setting. */
const SECRETS: readonly (keyof Settings)[] = ['databaseUrl', 'databaseDirectUrl', 'redisUrl', 'coreToken'];

/** Values that are valid each and invalid together; checked if all of them are valid. */
const CONTRADICTIONS: readonly {
  readonly among: readonly (keyof Settings)[];
  readonly is: (settings: Settings) => boolean;
  readonly message: string;
}[] = [
  {
    among: ['role', 'coreUrl'],
    is: ({ role, coreUrl }) => role === 'gateway' && coreUrl === undefined,
    message: 'HUB_CORE_URL: the role gateway needs the RPC address of the core',
  },
  {
    among: ['role', 'coreToken', 'coreClientCert'],
    is: ({ role, coreToken, coreClientCert }) =>
      role === 'gateway' && coreToken === undefined && coreClientCert === undefined,
    message: 'HUB_CORE_TOKEN: the role gateway needs a service token for the core',
  },
  {
    among: ['databaseUrl', 'databasePooler'],
    is: ({ databaseUrl, databasePooler }) => databasePooler !== 'none' && databaseUrl === undefined,
    message: 'HUB_DATABASE_POOLER: requires DATABASE_URL, which is not set',
  },
  {
    among: ['databasePooler', 'databaseDirectUrl'],
    is: ({ databasePooler, databaseDirectUrl }) =>
      databasePooler === 'none' && databaseDirectUrl !== undefined,
    message: 'HUB_DATABASE_DIRECT_URL: requires HUB_DATABASE_POOLER=transaction',
  },
  {
    among: ['coreClientCert', 'coreClientKey'],
    is: ({ coreClientCert, coreClientKey }) =>
      (coreClientCert === undefined) !== (coreClientKey === undefined),
    message: 'HUB_CORE_CLIENT_CERT, HUB_CORE_CLIENT_KEY: set both, the certificate and its key',
  },
  {
    among: ['rpcTlsCert', 'rpcTlsKey'],
    is: ({ rpcTlsCert, rpcTlsKey }) => (rpcTlsCert === undefined) !== (rpcTlsKey === undefined),
    message: 'HUB_RPC_TLS_CERT, HUB_RPC_TLS_KEY: set both, the certificate and its key',
  },
  {
    among: ['rpcTlsCert', 'rpcTlsClientCa'],
    is: ({ rpcTlsCert, rpcTlsClientCa }) => rpcTlsCert === undefined && rpcTlsClientCa !== undefined,
    message: 'HUB_RPC_TLS_CLIENT_CA: clients show certificates over TLS only; set HUB_RPC_TLS_CERT as well',
  },
  {
    among: ['masterKey', 'masterKeyFile'],
    is: ({ masterKey, masterKeyFile }) => masterKey !== undefined && masterKeyFile !== undefined,
    message: 'HUB_MASTER_KEY, HUB_MASTER_KEY_FILE: set one of them, not both',
  },
  {
    among: ['redisUrl', 'redisCluster'],
    is: ({ redisUrl, redisCluster }) =>
      redisUrl !== undefined && !redisCluster && namesSeveralServers(redisUrl),
    message:
      'REDIS_URL: several addresses are nodes of a cluster: set REDIS_CLUSTER=1, or use redis-sentinel://',
  },
  {
    among: ['redisUrl', 'redisCluster'],
    is: ({ redisUrl, redisCluster }) => redisCluster && redisUrl?.reveal().includes('-sentinel:') === true,
    message: 'REDIS_CLUSTER: a cluster has no Sentinels: omit it, or name the nodes in REDIS_URL',
  },
  {
    among: ['redisUrl', 'redisTlsCa'],
    is: ({ redisUrl, redisTlsCa }) =>
      redisTlsCa !== undefined && redisUrl?.reveal().startsWith('rediss') !== true,
    message: 'REDIS_TLS_CA: requires a rediss:// or rediss-sentinel:// address in REDIS_URL',
  },
  {
    among: ['role', 'port', 'rpcPort'],
    is: ({ role, port, rpcPort }) => role !== 'core' && port !== 0 && port === rpcPort,
    message: 'HUB_PORT, HUB_RPC_PORT: the two ports must differ',
  },
];

/** Keeps the text, and rejects one that names no server. */
function redisUrl(value: string): string {
  parseRedisAddress(value);
  return value;
}

function namesSeveralServers(redisUrl: Secret<string>): boolean {
  const { nodes, sentinel } = parseRedisAddress(redisUrl.reveal());
  return sentinel === undefined && nodes.length > 1;
}

function secret(parse: (text: string) => string): (text: string) => Secret<string> {
  return (value) => new Secret(parse(value));
}

function setting<K extends keyof Settings>(
  key: K,
  env: string,
  flags: string | undefined,
  fallback: string | undefined,
  parse: ((text: string) => Settings[K]) & { words?: readonly string[] },
  description: string,
): Setting {
  const [flag, placeholder] = flags?.split(' ') ?? [];
  const { words } = parse;
  return { key, env, flag, placeholder, fallback, parse, ...(words && { words }), description };
}

/** Keeps the text, which the hub parses again, and rejects an invalid one. */
function masterKeys(value: string): string {
  readMasterKeys(value, 'the value');
  return value;
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
