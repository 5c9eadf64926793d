// Reads the settings of a hub from flags, environment variables and files, and declares their flags.
import { type Command, Option } from 'commander';
import { parseSmtpUrl } from '../../core/mail/sending/smtp-address.ts';
import type { Secret } from '../../core/secret.ts';
import { parseRedisAddress } from '../../core/storage/redis/redis-address.ts';
import { messageOf } from '../../lib/caught-error.ts';
import { usageError } from '../errors/failure.ts';
import { readVariable, requirePublic, variableInUse } from './secret-variables.ts';
import { SETTINGS, type Settings, type SettingValues } from './setting-table.ts';
import { defaultWorkerCount } from './workers/default-worker-count.ts';

export const DATABASE_SETTINGS: readonly (keyof Settings)[] = [
  'databaseUrl',
  'databaseSchema',
  'databasePooler',
  'databaseDirectUrl',
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
    const given = flag === undefined ? undefined : flags[new Option(`--${flag}`).attributeName()];
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
  const values = read as SettingValues; // every key of the table was read, or there are problems
  const settings: Settings = {
    ...values,
    workers: values.workers === 'auto' ? defaultWorkerCount(values) : values.workers,
  };
  for (const { among, is, message } of CONTRADICTIONS) {
    if (!among.some((key) => wrong.has(key)) && is(settings)) problems.push(message);
  }
  if (problems.length > 0) throw usageError(problems.join('\n'));
  return settings;
}

/** Settings that are or may contain a secret and can be in a file. The master keys have their own setting. */
const SECRETS: readonly (keyof Settings)[] = [
  'databaseUrl',
  'databaseDirectUrl',
  'redisUrl',
  'coreToken',
  'smtpUrl',
];

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
    among: ['smtpUrl', 'mailFrom'],
    is: ({ smtpUrl, mailFrom }) => (smtpUrl === undefined) !== (mailFrom === undefined),
    message: 'HUB_SMTP_URL, HUB_MAIL_FROM: set both, the mail server and the sender of mails',
  },
  {
    among: ['smtpUrl', 'smtpCa'],
    is: ({ smtpUrl, smtpCa }) =>
      smtpCa !== undefined && (smtpUrl === undefined || parseSmtpUrl(smtpUrl.reveal()).tls === 'off'),
    message: 'HUB_SMTP_CA: requires HUB_SMTP_URL with TLS: smtps://, or smtp:// with tls=required',
  },
  {
    among: ['role', 'port', 'rpcPort'],
    is: ({ role, port, rpcPort }) => role !== 'core' && port !== 0 && port === rpcPort,
    message: 'HUB_PORT, HUB_RPC_PORT: the two ports must differ',
  },
];

function namesSeveralServers(redisUrl: Secret<string>): boolean {
  const { nodes, sentinel } = parseRedisAddress(redisUrl.reveal());
  return sentinel === undefined && nodes.length > 1;
}
