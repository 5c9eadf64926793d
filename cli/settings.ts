// The settings of a hub: one table for flags, environment variables, defaults and what is a valid value.
import { type Command, Option } from 'commander';
import { parseTrustedProxies } from '../gateway/client-ip.ts';
import { usageError } from './failure.ts';

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
    url('postgres:', 'postgresql:'),
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
    text,
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
    text,
    'service token for the core, for the role gateway',
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
  const read: Partial<Record<keyof Settings, unknown>> = {};
  for (const { key, env, flag, fallback, parse } of SETTINGS) {
    const given = flag === undefined ? undefined : flags[camelCase(flag)];
    const [source, value] =
      typeof given === 'string' ? [`--${flag}`, given] : [env, environment[env] || fallback];
    try {
      read[key] = value === undefined ? undefined : parse(value);
    } catch (error) {
      problems.push(`${source}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const settings = read as Settings; // every key of the table has been read
  problems.push(...(problems.length === 0 ? contradictions(settings) : []));
  if (problems.length > 0) throw usageError(problems.join('\n'));
  return settings;
}

function contradictions(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.role === 'gateway' && settings.coreUrl === undefined) {
    problems.push('HUB_CORE_URL: the role gateway needs the RPC address of the core');
  }
  if (settings.role === 'gateway' && settings.coreToken === undefined) {
    problems.push('HUB_CORE_TOKEN: the role gateway needs a service token for the core');
  }
  if (settings.masterKey !== undefined && settings.masterKeyFile !== undefined) {
    problems.push('HUB_MASTER_KEY, HUB_MASTER_KEY_FILE: set one of them, not both');
  }
  if (settings.role !== 'gateway' && settings.port !== 0 && settings.port === settings.rpcPort) {
    problems.push('HUB_PORT, HUB_RPC_PORT: the two ports have to differ');
  }
  return problems;
}

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

function text(value: string): string {
  return value;
}

function integer(from: number, to: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= from && number <= to) return number;
    throw new Error(`must be a whole number from ${from} to ${to}, not ${JSON.stringify(value)}`);
  };
}

function oneOf<T extends string>(...words: T[]): (value: string) => T {
  return (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    throw new Error(`must be one of ${words.join(', ')}, not ${JSON.stringify(value)}`);
  };
}

/** The value may hold a password, so messages do not repeat it. */
function url(...protocols: string[]): (value: string) => string {
  return (value) => {
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    throw new Error(
      `must be an address that starts with ${protocols.map((each) => `${each}//`).join(' or ')}`,
    );
  };
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
