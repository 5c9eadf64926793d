// The settings of a hub: one table for flags, environment variables, defaults and what is a valid value.
import { type Command, Option } from 'commander';
import { Secret } from '../core/secret.ts';
import { schemaName } from '../core/storage/database-address.ts';
import { readMasterKeys } from '../core/storage/master-key.ts';
import { parseRedisAddress } from '../core/storage/redis/redis-address.ts';
import { parseTrustedProxies } from '../gateway/client-ip.ts';
import { parseOrigins } from '../gateway/cors.ts';
import { MOST_POINTS } from '../gateway/most-points.ts';
import { usageError } from './failure.ts';
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
  /** Without the dashes; settings that are secrets have none, since other users can read the command line. */
  readonly flag: string | undefined;
  /** What the flag takes, as help calls it: `<port>` */
  readonly placeholder: string | undefined;
  /** The only values there are, where they are words. */
  readonly words?: readonly string[];
  readonly description: string;
  /** As it would be written; undefined: not set. */
  readonly fallback: string | undefined;
  /** Throws an Error that says what a valid value looks like. */
  readonly parse: (text: string) => Settings[K];
};

export const SETTINGS: readonly Setting[] = [
  setting(
    'role',
    'HUB_ROLE',
    'role <role>',
    'all',
    oneOf('all', 'core', 'gateway'),
    'what this process does: all, core or gateway',
  ),
  setting(
    'workers',
    'HUB_WORKERS',
    'workers <n>',
    '1',
    integer(1, 64),
    'processes that serve these ports together; the pool, and limits without Redis, are of each',
  ),
  setting('host', 'HUB_HOST', 'host <address>', '127.0.0.1', text, 'address the public gateway binds'),
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
    'address the internal port binds: RPC and /metrics; in the role gateway /metrics alone',
  ),
  setting(
    'rpcPort',
    'HUB_RPC_PORT',
    'rpc-port <port>',
    '5100',
    integer(0, 65_535),
    'internal port: RPC and /metrics; in the role gateway /metrics alone; 0 takes any free one',
  ),
  setting(
    'rpcTlsCert',
    'HUB_RPC_TLS_CERT',
    'rpc-tls-cert <file>',
    undefined,
    text,
    'PEM file: certificate of the RPC port, and what leads to its root; without it the port speaks plaintext',
  ),
  setting(
    'rpcTlsKey',
    'HUB_RPC_TLS_KEY',
    'rpc-tls-key <file>',
    undefined,
    text,
    'PEM file, mode 0600: key of that certificate',
  ),
  setting(
    'rpcTlsClientCa',
    'HUB_RPC_TLS_CLIENT_CA',
    'rpc-tls-client-ca <file>',
    undefined,
    text,
    'PEM file: who issues client certificates, which may take the place of tokens',
  ),
  setting(
    'publicUrl',
    'HUB_PUBLIC_URL',
    'public-url <url>',
    undefined,
    publicUrl,
    'base address the outside world knows the gateway by; only a simulator on this machine is called back without it',
  ),
  setting(
    'databaseUrl',
    'DATABASE_URL',
    'database-url <url>',
    undefined,
    secret(databaseUrl),
    'address of PostgreSQL 15 or later, as libpq reads it; without it the hub runs its own in the data directory',
  ),
  setting(
    'databaseSchema',
    'HUB_DATABASE_SCHEMA',
    'database-schema <schema>',
    undefined,
    schemaName,
    "schema of the hub's tables, made if it is missing; by default the first of the role's search path",
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
    'master keys, one per line, 32 bytes in base64 or hex each',
  ),
  setting(
    'masterKeyFile',
    'HUB_MASTER_KEY_FILE',
    'master-key-file <file>',
    undefined,
    text,
    'file of master keys, mode 0600; by default master.key in the data directory, made at the first start',
  ),
  setting(
    'auditHeadFile',
    'HUB_AUDIT_HEAD_FILE',
    'audit-head-file <file>',
    undefined,
    text,
    'file in which this hub notes the head of the audit chain; by default audit-head in the data directory',
  ),
  setting(
    'licenseRatePerMinute',
    'HUB_LICENSE_RATE_PER_MINUTE',
    'license-rate-per-minute <n>',
    '60',
    integer(0, MOST_POINTS),
    'license requests per minute and client IP; 0 is off',
  ),
  setting(
    'wrongGuesses',
    'HUB_WRONG_GUESSES',
    'wrong-guesses <n>',
    '20',
    integer(0, 1_000_000),
    'wrong guesses at a key or fingerprint per client in ten minutes, five times as many for all strangers together; 0 is off',
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
    'requests each port works on at the same time; those beyond are answered 503 at once',
  ),
  setting(
    'connectionsPerClient',
    'HUB_CONNECTIONS_PER_CLIENT',
    'connections-per-client <n>',
    '500',
    integer(0, 10_000),
    'connections each port takes from one address, trusted proxies excepted; 0 is off',
  ),
  setting(
    'trustedProxies',
    'HUB_TRUSTED_PROXIES',
    'trusted-proxies <addresses>',
    '',
    parseTrustedProxies,
    'addresses and CIDR ranges, separated by commas, of the proxies in front of the gateway',
  ),
  setting(
    'proxyHeader',
    'HUB_PROXY_HEADER',
    'proxy-header <header>',
    'x-forwarded-for',
    oneOf('x-forwarded-for', 'forwarded'),
    'the one header in which those proxies name the client: x-forwarded-for or forwarded',
  ),
  setting(
    'corsOrigins',
    'HUB_CORS_ORIGINS',
    'cors-origins <origins>',
    '',
    parseOrigins,
    'origins, separated by commas, whose web pages may call the license endpoints; none by default',
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
    'PEM file: who issued the certificate of the core, for an https address',
  ),
  setting(
    'coreClientCert',
    'HUB_CORE_CLIENT_CERT',
    'core-client-cert <file>',
    undefined,
    text,
    'PEM file: certificate to show the core in place of a token',
  ),
  setting(
    'coreClientKey',
    'HUB_CORE_CLIENT_KEY',
    'core-client-key <file>',
    undefined,
    text,
    'PEM file: key of that certificate',
  ),
  setting(
    'callbackBudgetMs',
    'HUB_CALLBACK_BUDGET_MS',
    'callback-budget-ms <ms>',
    '2500',
    integer(1, 8_000),
    'milliseconds after which a payment provider is answered, whatever has come of its callback',
  ),
  setting(
    'providerTimeoutMs',
    'HUB_PROVIDER_TIMEOUT_MS',
    'provider-timeout-ms <ms>',
    '30000',
    integer(100, 120_000),
    'milliseconds a payment provider has to answer a question',
  ),
  setting(
    'sessionCallbacks',
    'HUB_SESSION_CALLBACKS',
    'session-callbacks <n>',
    '100',
    integer(1, 1_000),
    'callbacks of one charge session that the journal keeps; those beyond are counted, and the provider is asked about their session',
  ),
  setting(
    'providerQuestions',
    'HUB_PROVIDER_QUESTIONS',
    'provider-questions <n>',
    '16',
    integer(1, 64),
    'questions to the payment provider of one slot that may be under way at the same time; the rest wait',
  ),
  setting(
    'retryDelaySeconds',
    'HUB_RETRY_DELAY_SECONDS',
    'retry-delay-seconds <seconds>',
    '5',
    integer(1, 3_600),
    'seconds until a callback that could not be dealt with is tried again; later and later after that',
  ),
  setting(
    'sweepAfterMs',
    'HUB_SWEEP_AFTER_SECONDS',
    'sweep-after-seconds <seconds>',
    '120,600,3600',
    risingSeconds,
    'seconds after which the provider is asked about a session that is not paid; then every last one for a day',
  ),
  setting(
    'drainSeconds',
    'HUB_DRAIN_SECONDS',
    'drain-seconds <seconds>',
    undefined,
    integer(0, 3_600),
    'seconds between a signal to stop and the end of serving, in which /readyz is 503; by default 5, and 0 on a terminal',
  ),
  setting(
    'logLevel',
    'HUB_LOG_LEVEL',
    'log-level <level>',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    'least serious level that is logged',
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
    'full log files that are kept beside the one in use',
  ),
];

/** Declares a flag for every setting that has one, or only for those named. */
export function addSettings(command: Command, only?: readonly (keyof Settings)[]): Command {
  for (const { key, flag, placeholder, env, description, fallback } of SETTINGS) {
    if (flag === undefined || (only && !only.includes(key))) continue;
    const note = fallback ? `; default ${fallback}` : '';
    command.addOption(new Option(`--${flag} ${placeholder}`, `${description} (env: ${env}${note})`));
  }
  return command;
}

/**
 * Reads flags, else the environment and the files it names, else the defaults; an empty variable counts as not set.
 * @throws CliError with one line for each wrong value, naming where it came from.
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
      problems.push(`${source}: ${error instanceof Error ? error.message : error}`);
      wrong.add(key);
    }
  }
  const settings = read as Settings; // every key of the table has been read, or there are problems
  for (const { among, is, message } of CONTRADICTIONS) {
    if (!among.some((key) => wrong.has(key)) && is(settings)) problems.push(message);
  }
  if (problems.length > 0) throw usageError(problems.join('\n'));
  return settings;
}

/** Settings that are or may hold a secret, and can be in a file; the master keys have a setting of their own for that. */
const SECRETS: readonly (keyof Settings)[] = ['databaseUrl', 'databaseDirectUrl', 'redisUrl', 'coreToken'];

/** Values that are right by themselves and wrong together; looked for where all of them are right by themselves. */
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
    message: 'REDIS_CLUSTER: a cluster has no Sentinels: leave it out, or name the nodes in REDIS_URL',
  },
  {
    among: ['redisUrl', 'redisTlsCa'],
    is: ({ redisUrl, redisTlsCa }) =>
      redisTlsCa !== undefined && redisUrl?.reveal().startsWith('rediss') !== true,
    message: 'REDIS_TLS_CA: it takes a rediss:// or rediss-sentinel:// address in REDIS_URL',
  },
  {
    among: ['role', 'port', 'rpcPort'],
    is: ({ role, port, rpcPort }) => role !== 'core' && port !== 0 && port === rpcPort,
    message: 'HUB_PORT, HUB_RPC_PORT: the two ports have to differ',
  },
];

/** Keeps the text, and refuses one that names no server. */
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

/** Keeps the text, which the hub reads again, and refuses one that it could not read. */
function masterKeys(value: string): string {
  readMasterKeys(value, 'the value');
  return value;
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
