// The table of a hub's settings: environment variables, flags, defaults and valid values.
import { parseAllowedNetworks } from '../../core/event/delivery/allowed-networks.ts';
import { parseMailFrom, parseSmtpUrl } from '../../core/mail/sending/smtp-address.ts';
import { Secret } from '../../core/secret.ts';
import { schemaName } from '../../core/storage/connection/database-address.ts';
import { parseRedisAddress } from '../../core/storage/redis/redis-address.ts';
import { readMasterKeys } from '../../core/storage/secrets/key-ring-file.ts';
import { MAX_POINTS } from '../../gateway/limits/max-points.ts';
import { parseOrigins } from '../../gateway/server/cors.ts';
import { parseTrustedProxies } from '../../lib/net/proxies.ts';
import {
  autoOr,
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

const TABLE = {
  role: setting('HUB_ROLE', '<role>', oneOf('all', 'core', 'gateway'), {
    fallback: 'all',
    description: 'role of this process: all, core or gateway',
  }),
  workers: setting('HUB_WORKERS', '<n>', autoOr(integer(1, 64)), {
    fallback: 'auto',
    description:
      'number of processes that share these ports; auto: one for every two processors, at most 4, but 1 without Redis, because each process would count requests by itself',
  }),
  host: setting('HUB_HOST', '<address>', text, {
    fallback: '127.0.0.1',
    description: 'bind address of the public gateway',
  }),
  port: setting('HUB_PORT', '<port>', integer(0, 65_535), {
    fallback: '5099',
    description: 'port of the public gateway; 0 takes any free one',
  }),
  rpcHost: setting('HUB_RPC_HOST', '<address>', text, {
    fallback: '127.0.0.1',
    description: 'bind address of the internal port',
  }),
  rpcPort: setting('HUB_RPC_PORT', '<port>', integer(0, 65_535), {
    fallback: '5100',
    description: 'internal port: RPC and /metrics, in the role gateway /metrics only; 0 takes any free one',
  }),
  rpcTlsCert: setting('HUB_RPC_TLS_CERT', '<file>', text, {
    description: 'PEM file: certificate chain of the RPC port; without it the port uses plaintext',
  }),
  rpcTlsKey: setting('HUB_RPC_TLS_KEY', '<file>', text, {
    description: 'PEM file, mode 0600: private key of that certificate',
  }),
  rpcTlsClientCa: setting('HUB_RPC_TLS_CLIENT_CA', '<file>', text, {
    description: 'PEM file: certificate authority of client certificates, which can replace tokens',
  }),
  publicUrl: setting('HUB_PUBLIC_URL', '<url>', publicUrl, {
    description:
      'public base URL of the gateway, for callbacks and the pages for customers; without it only a simulator on this machine can call back',
  }),
  databaseUrl: setting('DATABASE_URL', '<url>', secret(databaseUrl), {
    description:
      'PostgreSQL 15 or later, as a libpq connection string; without it the hub runs an embedded PostgreSQL in the data directory',
  }),
  databaseSchema: setting('HUB_DATABASE_SCHEMA', '<schema>', schemaName, {
    description:
      "schema of the hub's tables, created if missing (default: the first in the role's search path)",
  }),
  databasePooler: setting('HUB_DATABASE_POOLER', '<mode>', oneOf('none', 'transaction'), {
    fallback: 'none',
    description:
      'pool mode of the connection pooler at DATABASE_URL: transaction, or none if there is no pooler',
  }),
  databaseDirectUrl: setting('HUB_DATABASE_DIRECT_URL', '<url>', secret(databaseUrl), {
    description:
      'direct address of the same database, for migrations, backups and LISTEN; without it hubs poll for status changes',
  }),
  databasePool: setting('HUB_DATABASE_POOL', '<n>', integer(2, 1000), {
    fallback: '10',
    description:
      'maximum size of the connection pool of each process; it opens one more connection for LISTEN',
  }),
  redisUrl: setting('REDIS_URL', '<url>', secret(textAcceptedBy(parseRedisAddress)), {
    description:
      'Redis for counting requests across hubs: redis://, rediss:// (TLS), redis-sentinel://host1,host2/name; without it each process counts in memory',
  }),
  redisCluster: setting('REDIS_CLUSTER', '<0|1>', zeroOrOne, {
    fallback: '0',
    description: 'whether REDIS_URL names nodes of a Redis Cluster: 0 or 1',
  }),
  redisTlsCa: setting('REDIS_TLS_CA', '<file>', text, {
    description: 'PEM file: certificate authority of Redis, for a rediss:// address',
  }),
  masterKey: setting(
    'HUB_MASTER_KEY',
    undefined,
    secret(textAcceptedBy((keys) => readMasterKeys(keys, 'the value'))),
    {
      description: 'master keys, one per line, each 32 bytes in base64 or hex',
    },
  ),
  masterKeyFile: setting('HUB_MASTER_KEY_FILE', '<file>', text, {
    description:
      'file of master keys, mode 0600 (default: master.key in the data directory, created at the first start)',
  }),
  auditHeadFile: setting('HUB_AUDIT_HEAD_FILE', '<file>', text, {
    description: 'file for the head of the audit chain (default: audit-head in the data directory)',
  }),
  licenseRatePerMinute: setting('HUB_LICENSE_RATE_PER_MINUTE', '<n>', integer(0, MAX_POINTS), {
    fallback: '60',
    description: 'license requests per minute and client IP; 0 is off',
  }),
  wrongGuesses: setting('HUB_WRONG_GUESSES', '<n>', integer(0, 1_000_000), {
    fallback: '20',
    description:
      'wrong license keys, fingerprints or claim tokens per client in ten minutes, and five times as many for all unknown clients together; 0 is off',
  }),
  failedAttemptsPerMinute: setting('HUB_FAILED_ATTEMPTS_PER_MINUTE', '<n>', integer(0, 1_000_000), {
    fallback: '30',
    description: 'wrong service tokens per minute and address on the RPC port; 0 is off',
  }),
  maxInFlight: setting('HUB_MAX_IN_FLIGHT', '<n>', integer(1, 100_000), {
    fallback: '1000',
    description: 'concurrent requests per port; further requests get 503 at once',
  }),
  connectionsPerClient: setting('HUB_CONNECTIONS_PER_CLIENT', '<n>', integer(0, 10_000), {
    fallback: '500',
    description: 'connections per port and client address, except trusted proxies; 0 is off',
  }),
  trustedProxies: setting('HUB_TRUSTED_PROXIES', '<addresses>', parseTrustedProxies, {
    fallback: '',
    description: 'addresses and CIDR ranges of the proxies in front of the gateway, separated by commas',
  }),
  proxyHeader: setting('HUB_PROXY_HEADER', '<header>', oneOf('x-forwarded-for', 'forwarded'), {
    fallback: 'x-forwarded-for',
    description: 'header in which those proxies send the client address: x-forwarded-for or forwarded',
  }),
  corsOrigins: setting('HUB_CORS_ORIGINS', '<origins>', parseOrigins, {
    fallback: '',
    description:
      'origins of web pages that may call the license endpoints, separated by commas (default: none)',
  }),
  docs: setting('HUB_DOCS', '<on|off>', onOrOff, {
    fallback: 'on',
    description: 'whether the gateway serves its reference at /docs and /openapi.json: on or off',
  }),
  coreUrl: setting('HUB_CORE_URL', '<url>', url('http:', 'https:'), {
    description: 'RPC address of the core, for the role gateway',
  }),
  coreToken: setting('HUB_CORE_TOKEN', undefined, secret(token), {
    description: 'service token for the core, for the role gateway',
  }),
  coreCa: setting('HUB_CORE_CA', '<file>', text, {
    description: 'PEM file: certificate authority of the core, for an https address',
  }),
  coreClientCert: setting('HUB_CORE_CLIENT_CERT', '<file>', text, {
    description: 'PEM file: client certificate for the core, in place of a token',
  }),
  coreClientKey: setting('HUB_CORE_CLIENT_KEY', '<file>', text, {
    description: 'PEM file: private key of that certificate',
  }),
  callbackBudgetMs: setting('HUB_CALLBACK_BUDGET_MS', '<ms>', integer(1, 8_000), {
    fallback: '2500',
    description: 'time limit in milliseconds for the response to a callback, processed or not',
  }),
  providerTimeoutMs: setting('HUB_PROVIDER_TIMEOUT_MS', '<ms>', integer(100, 120_000), {
    fallback: '30000',
    description: 'timeout in milliseconds for a call to a payment provider',
  }),
  sessionCallbacks: setting('HUB_SESSION_CALLBACKS', '<n>', integer(1, 1_000), {
    fallback: '100',
    description:
      'callbacks per charge session that the journal stores; further ones are only counted, and the session is verified',
  }),
  providerQuestions: setting('HUB_PROVIDER_QUESTIONS', '<n>', integer(1, 64), {
    fallback: '16',
    description: 'verifications that a hub runs at the same time for one slot; further ones wait',
  }),
  retryDelaySeconds: setting('HUB_RETRY_DELAY_SECONDS', '<seconds>', integer(1, 3_600), {
    fallback: '5',
    description:
      'seconds until the hub first queries the provider again for a waiting callback; later pauses grow, to one hour at most',
  }),
  sweepAfterMs: setting('HUB_SWEEP_AFTER_SECONDS', '<seconds>', risingSeconds, {
    fallback: '120,600,3600',
    description:
      'seconds from the creation of an unpaid session to each verification; the last interval repeats for a day',
  }),
  eventAllowNetworks: setting('HUB_EVENT_ALLOW_NETWORKS', '<networks>', parseAllowedNetworks, {
    fallback: '',
    description:
      'addresses and CIDR ranges that event endpoints may have although they are not public, separated by commas',
  }),
  smtpUrl: setting('HUB_SMTP_URL', '<url>', secret(textAcceptedBy(parseSmtpUrl)), {
    description:
      'mail server for mails to customers: smtp://user:password@host (STARTTLS) or smtps://…; without it the hub sends no mail',
  }),
  smtpCa: setting('HUB_SMTP_CA', '<file>', text, {
    description: 'PEM file: certificate authority of the mail server, if it is not a public one',
  }),
  mailFrom: setting('HUB_MAIL_FROM', '<address>', parseMailFrom, {
    description: 'sender of mails to customers, such as shop@example.com or "Shop <shop@example.com>"',
  }),
  drainSeconds: setting('HUB_DRAIN_SECONDS', '<seconds>', integer(0, 3_600), {
    description:
      'seconds between a stop signal and the end of serving, with /readyz at 503 (default: 5, and 0 on a terminal)',
  }),
  logLevel: setting('HUB_LOG_LEVEL', '<level>', oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'), {
    fallback: 'info',
    description: 'minimum log level',
  }),
  logFile: setting('HUB_LOG_FILE', '<file>', text, {
    description:
      'write the log to numbered files (hub.log becomes hub.1.log, hub.2.log, …) instead of standard output',
  }),
  logFileMegabytes: setting('HUB_LOG_FILE_MEGABYTES', '<n>', integer(1, 10_000), {
    fallback: '100',
    description: 'size after which a new log file begins',
  }),
  logFilesKept: setting('HUB_LOG_FILES_KEPT', '<n>', integer(1, 1_000), {
    fallback: '5',
    description: 'number of full log files to keep',
  }),
};

/** A setting with the key of its value in `Settings`. */
export type Setting = Definition<unknown> & { readonly key: keyof Settings };

type Definition<T> = {
  readonly env: string;
  /** Without the dashes. Secret settings have none, since other users can read the command line. */
  readonly flag: string | undefined;
  /** The placeholder of the value in the help: `<port>` */
  readonly placeholder: string | undefined;
  readonly words?: readonly string[];
  readonly description: string;
  /** The default as text; undefined if unset. */
  readonly fallback: string | undefined;
  /** Throws an Error that describes a valid value. */
  readonly parse: (text: string) => T;
};

/** The values by the keys of the table. Those without a default may be undefined. */
export type SettingValues = {
  readonly [K in keyof typeof TABLE]: (typeof TABLE)[K] extends Definition<infer T> ? T : never;
};

export type Settings = SettingValues & { readonly workers: number };

export const SETTINGS = Object.entries(TABLE).map(([key, definition]) => ({
  key,
  ...definition,
})) as Setting[]; // the keys above

type Parse<T> = ((text: string) => T) & { readonly words?: readonly string[] };

/** Its flag is the name of the variable: `--port` for `HUB_PORT`. It has none without a placeholder. */
function setting<T, Fallback extends string | undefined = undefined>(
  env: string,
  placeholder: string | undefined,
  parse: Parse<T>,
  { fallback, description }: { readonly fallback?: Fallback; readonly description: string },
): Definition<Fallback extends string ? T : T | undefined> {
  const flag = placeholder && env.replace(/^HUB_/, '').toLowerCase().replaceAll('_', '-');
  const { words } = parse;
  return { env, flag, placeholder, fallback, parse, ...(words && { words }), description };
}

function secret(parse: (text: string) => string): (text: string) => Secret<string> {
  return (value) => new Secret(parse(value));
}

/** Keeps the text, which the hub parses again, and rejects an invalid one. */
function textAcceptedBy(parse: (text: string) => unknown): (text: string) => string {
  return (value) => {
    parse(value);
    return value;
  };
}
