// The libpq parameters that a hub supports, each with the environment variable for its default.

/** Values by name. Lists are text. */
export type Parameters = Partial<Record<ParameterName, string>>;

export type ParameterName = keyof typeof PARAMETERS;

type Check = (value: string) => string | undefined;

const any: Check = () => undefined;
const wholeNumber: Check = (value) => (/^-?\d{1,9}$/.test(value) ? undefined : 'must be a whole number');
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(value) ? undefined : `must be one of ${words.join(', ')}`;

export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

export const TARGET_SESSIONS = [
  'any',
  'read-write',
  'read-only',
  'primary',
  'standby',
  'prefer-standby',
] as const;
export type TargetSession = (typeof TARGET_SESSIONS)[number];

const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;

type Parameter = { readonly env?: string; readonly check: Check };

// Names and variables are those of libpq's documentation.
const PARAMETERS = {
  host: { env: 'PGHOST', check: any },
  hostaddr: { check: any },
  port: { env: 'PGPORT', check: any },
  dbname: { check: any },
  user: { env: 'PGUSER', check: any },
  password: { env: 'PGPASSWORD', check: any },
  passfile: { env: 'PGPASSFILE', check: any },
  connect_timeout: { env: 'PGCONNECT_TIMEOUT', check: wholeNumber },
  target_session_attrs: { env: 'PGTARGETSESSIONATTRS', check: oneOf(...TARGET_SESSIONS) },
  load_balance_hosts: { env: 'PGLOADBALANCEHOSTS', check: oneOf('disable', 'random') },
  application_name: { env: 'PGAPPNAME', check: any },
  fallback_application_name: { check: any },
  options: { env: 'PGOPTIONS', check: any },
  client_encoding: {
    env: 'PGCLIENTENCODING',
    check: (value) =>
      /^(utf-?8|unicode|auto)$/i.test(value) ? undefined : 'must be UTF8: the hub uses no other encoding',
  },
  keepalives: { check: oneOf('0', '1') },
  keepalives_idle: { check: wholeNumber },
  sslmode: { env: 'PGSSLMODE', check: oneOf(...SSL_MODES) },
  sslnegotiation: { env: 'PGSSLNEGOTIATION', check: oneOf('postgres', 'direct') },
  sslrootcert: { env: 'PGSSLROOTCERT', check: any },
  sslcrl: { env: 'PGSSLCRL', check: any },
  sslcert: { env: 'PGSSLCERT', check: any },
  sslkey: { env: 'PGSSLKEY', check: any },
  sslpassword: { check: any },
  sslsni: { env: 'PGSSLSNI', check: oneOf('0', '1') },
  sslcompression: {
    check: (value) => (value === '0' ? undefined : 'must be 0: TLS compression is not safe'),
  },
  ssl_min_protocol_version: { env: 'PGSSLMINPROTOCOLVERSION', check: oneOf(...TLS_VERSIONS) },
  ssl_max_protocol_version: { env: 'PGSSLMAXPROTOCOLVERSION', check: oneOf(...TLS_VERSIONS) },
  channel_binding: { env: 'PGCHANNELBINDING', check: oneOf('disable', 'prefer', 'require') },
  gssencmode: {
    env: 'PGGSSENCMODE',
    check: (value) =>
      value === 'disable' || value === 'prefer'
        ? undefined
        : 'must be disable or prefer: the hub does not support GSSAPI',
  },
} as const satisfies Record<string, Parameter>;

/** Parameters of libpq that a hub does not support. It refuses them instead of ignoring them. */
const UNSUPPORTED = new Set(
  (
    'gssdelegation gsslib keepalives_count keepalives_interval krbsrvname max_protocol_version ' +
    'min_protocol_version oauth_client_id oauth_client_secret oauth_issuer oauth_scope replication ' +
    'require_auth ' +
    'requirepeer scram_client_key scram_server_key service servicefile sslcertmode sslcrldir sslkeylogfile ' +
    'tcp_user_timeout'
  ).split(' '),
);

/** Parameters of other drivers, and what to do with them. */
const FOREIGN: Readonly<Record<string, string>> = {
  uselibpqcompat: 'remove it: the hub always reads the address like libpq',
  pgbouncer: 'remove it: it belongs to another driver',
  schema: 'remove it: it belongs to another driver',
  ssl: 'must be true; sslmode sets the details',
};

/** @throws Error that names the parameter, never its value. */
export function checkParameter(name: string, value: string): asserts name is ParameterName {
  if (name in PARAMETERS) {
    const parameter: Parameter = PARAMETERS[name as ParameterName]; // checked in the line above
    const wrong = parameter.check(value);
    if (wrong !== undefined) throw new Error(`${name} ${wrong}`);
    return;
  }
  if (UNSUPPORTED.has(name)) throw new Error(`the parameter ${name} is not supported: remove it`);
  const foreign = FOREIGN[name];
  if (foreign !== undefined) throw new Error(`the parameter ${name} is not one of libpq's: ${foreign}`);
  const shown = /^\w{1,40}$/.test(name) ? ` ${name}` : '';
  throw new Error(`the parameter${shown} is not one of libpq's: correct or remove it`);
}

/** Reads the parameters from the environment. @throws Error that names the variable */
export function environmentParameters(environment: NodeJS.ProcessEnv): Parameters {
  const found: Parameters = {};
  for (const [name, { env, check }] of Object.entries<Parameter>(PARAMETERS)) {
    const value = env && environment[env];
    if (!value) continue;
    const wrong = check(value);
    if (wrong !== undefined) throw new Error(`the environment variable ${env} ${wrong}`);
    found[name as ParameterName] = value;
  }
  return found;
}
