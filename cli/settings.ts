// The settings of a hub: one table for flags, environment variables, defaults and what is a valid value.
import { type Command, Option } from 'commander';
import { readMasterKeys } from '../core/storage/master-key.ts';
import { parseTrustedProxies } from '../gateway/client-ip.ts';
import { usageError } from './failure.ts';
import { databaseUrl, integer, oneOf, risingSeconds, text, token, url } from './setting-values.ts';

export type Settings = {
  readonly role: 'all' | 'core' | 'gateway';
  readonly host: string;
  readonly port: number;
  readonly rpcHost: string;
  readonly rpcPort: number;
  readonly publicUrl: string | undefined;
  readonly databaseUrl: string | undefined;
  readonly databasePool: number;
  readonly redisUrl: string | undefined;
  readonly masterKey: string | undefined;
  readonly masterKeyFile: string | undefined;
  readonly licenseRatePerMinute: number;
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: 'x-forwarded-for' | 'forwarded';
  readonly coreUrl: string | undefined;
  readonly coreToken: string | undefined;
  readonly callbackBudgetMs: number;
  readonly providerTimeoutMs: number;
  readonly retryDelaySeconds: number;
  /** Milliseconds. */
  readonly sweepAfterMs: readonly number[];
  readonly logLevel: string;
};

export type Setting<K extends keyof Settings = keyof Settings> = {
  readonly key: K;
  readonly env: string;
  /** Without the dashes; settings that are secrets have none, since other users can read the command line. */
  readonly flag: string | undefined;
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
    'role',
    'all',
    oneOf('all', 'core', 'gateway'),
    'what this process does: all, core or gateway',
  ),
  setting('host', 'HUB_HOST', 'host', '127.0.0.1', text, 'address the public gateway binds'),
  setting(
    'port',
    'HUB_PORT',
    'port',
    '5099',
    integer(0, 65_535),
    'port of the public gateway; 0 takes any free one',
  ),
  setting('rpcHost', 'HUB_RPC_HOST', 'rpc-host', '127.0.0.1', text, 'address the internal RPC port binds'),
  setting(
    'rpcPort',
    'HUB_RPC_PORT',
    'rpc-port',
    '5100',
    integer(0, 65_535),
    'internal RPC port; 0 takes any free one',
  ),
  setting(
    'publicUrl',
    'HUB_PUBLIC_URL',
    'public-url',
    undefined,
    url('http:', 'https:'),
    'base address the outside world knows the gateway by',
  ),
  setting(
    'databaseUrl',
    'DATABASE_URL',
    'database-url',
    undefined,
    databaseUrl,
    'PostgreSQL 15 or later; without it the hub runs its own in the data directory',
  ),
  setting(
    'databasePool',
    'HUB_DATABASE_POOL',
    'database-pool',
    '10',
    integer(2, 1000),
    'most database connections of this process',
  ),
  setting(
    'redisUrl',
    'REDIS_URL',
    'redis-url',
    undefined,
    url('redis:', 'rediss:'),
    'Redis for counting requests across hubs; without it each hub counts in memory',
  ),
  setting(
    'masterKey',
    'HUB_MASTER_KEY',
    undefined,
    undefined,
    masterKeys,
    'master keys, one per line, 32 bytes in base64 or hex each',
  ),
  setting(
    'masterKeyFile',
    'HUB_MASTER_KEY_FILE',
    'master-key-file',
    undefined,
    text,
    'file of master keys, mode 0600; by default master.key in the data directory, made at the first start',
  ),
  setting(
    'licenseRatePerMinute',
    'HUB_LICENSE_RATE_PER_MINUTE',
    'license-rate-per-minute',
    '60',
    integer(0, 1_000_000),
    'license requests per minute and client IP; 0 is off',
  ),
  setting(
    'trustedProxies',
    'HUB_TRUSTED_PROXIES',
    'trusted-proxies',
    '',
    parseTrustedProxies,
    'addresses and CIDR ranges, separated by commas, of the proxies in front of the gateway',
  ),
  setting(
    'proxyHeader',
    'HUB_PROXY_HEADER',
    'proxy-header',
    'x-forwarded-for',
    oneOf('x-forwarded-for', 'forwarded'),
    'the one header in which those proxies name the client: x-forwarded-for or forwarded',
  ),
  setting(
    'coreUrl',
    'HUB_CORE_URL',
    'core-url',
    undefined,
    url('http:', 'https:'),
    'RPC address of the core, for the role gateway',
  ),
  setting(
    'coreToken',
    'HUB_CORE_TOKEN',
    undefined,
    undefined,
    token,
    'service token for the core, for the role gateway',
  ),
  setting(
    'callbackBudgetMs',
    'HUB_CALLBACK_BUDGET_MS',
    'callback-budget-ms',
    '2500',
    integer(1, 8_000),
    'milliseconds after which a payment provider is answered, whatever has come of its callback',
  ),
  setting(
    'providerTimeoutMs',
    'HUB_PROVIDER_TIMEOUT_MS',
    'provider-timeout-ms',
    '30000',
    integer(100, 120_000),
    'milliseconds a payment provider has to answer a question',
  ),
  setting(
    'retryDelaySeconds',
    'HUB_RETRY_DELAY_SECONDS',
    'retry-delay-seconds',
    '5',
    integer(1, 3_600),
    'seconds until a callback that could not be dealt with is tried again; later and later after that',
  ),
  setting(
    'sweepAfterMs',
    'HUB_SWEEP_AFTER_SECONDS',
    'sweep-after-seconds',
    '120,600,3600',
    risingSeconds,
    'seconds after which the provider is asked about a session that is not paid; then every last one for a day',
  ),
  setting(
    'logLevel',
    'HUB_LOG_LEVEL',
    'log-level',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    'least serious level that is logged',
  ),
];

/** Declares a flag for every setting that has one, or only for those named. */
export function addSettings(command: Command, only?: readonly (keyof Settings)[]): Command {
  for (const { key, flag, env, description, fallback } of SETTINGS) {
    if (flag === undefined || (only && !only.includes(key))) continue;
    const note = fallback ? `; default ${fallback}` : '';
    command.addOption(new Option(`--${flag} <value>`, `${description} (env: ${env}${note})`));
  }
  return command;
}

/**
 * Reads flags, else the environment, else the defaults; an empty variable counts as not set.
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
    const [source, value] =
      typeof given === 'string' ? [`--${flag}`, given] : [env, environment[env] || fallback];
    try {
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
    among: ['role', 'coreToken'],
    is: ({ role, coreToken }) => role === 'gateway' && coreToken === undefined,
    message: 'HUB_CORE_TOKEN: the role gateway needs a service token for the core',
  },
  {
    among: ['masterKey', 'masterKeyFile'],
    is: ({ masterKey, masterKeyFile }) => masterKey !== undefined && masterKeyFile !== undefined,
    message: 'HUB_MASTER_KEY, HUB_MASTER_KEY_FILE: set one of them, not both',
  },
  {
    among: ['role', 'port', 'rpcPort'],
    is: ({ role, port, rpcPort }) => role === 'all' && port !== 0 && port === rpcPort,
    message: 'HUB_PORT, HUB_RPC_PORT: the two ports have to differ',
  },
];

function setting<K extends keyof Settings>(
  key: K,
  env: string,
  flag: string | undefined,
  fallback: string | undefined,
  parse: (text: string) => Settings[K],
  description: string,
): Setting {
  return { key, env, flag, fallback, parse, description };
}

/** Keeps the text, which the hub reads again, and refuses one that it could not read. */
function masterKeys(value: string): string {
  readMasterKeys(value, 'the value');
  return value;
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
