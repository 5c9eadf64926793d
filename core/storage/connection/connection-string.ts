// Reads the address of a database as libpq does: `postgresql://` URIs with host lists, sockets and
// parameters.
//
// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import {
  checkParameter,
  environmentParameters,
  type Parameters,
  type SslMode,
  type TargetSession,
} from './parameters.ts';

export type Server = {
  /** A name, an IP address, or the directory of a Unix-domain socket. */
  readonly host: string;
  /** The IP address to connect to instead; the certificate is still that of `host`. */
  readonly address?: string;
  readonly port: number;
};

export type ConnectionTarget = {
  /** In the order in which they are tried. */
  readonly servers: readonly [Server, ...Server[]];
  readonly user: string;
  /** Undefined: from the password file, if it has one. */
  readonly password: string | undefined;
  readonly database: string;
  readonly targetSession: TargetSession;
  readonly loadBalance: boolean;
  /** For each address of each server. */
  readonly connectTimeoutMs: number;
  readonly keepAlive: boolean;
  readonly keepAliveIdleMs: number;
  readonly applicationName: string | undefined;
  readonly sslMode: SslMode;
  /** The parameters as text. Those of TLS are read for each connection, because files change. */
  readonly parameters: Parameters;
};

/** libpq waits without limit by default; a hub never does. */
const CONNECT_TIMEOUT_MS = 5_000;
const DEFAULT_PORT = 5432;

/**
 * @throws Error that says what is wrong with the address and does not show it: it may contain a password
 * anywhere
 */
export function parseConnectionString(
  text: string,
  environment: NodeJS.ProcessEnv = process.env,
): ConnectionTarget {
  const given = parseUri(text);
  const parameters = { ...environmentParameters(environment), ...given };
  if (!given.dbname) throw new Error('must name a database, as postgres://user@host/database does');
  const seconds = Number(parameters.connect_timeout ?? 0);
  const sslMode = sslModeOf(parameters);
  return {
    servers: serversOf(parameters),
    user: parameters.user || userInfo().username,
    password: parameters.password || undefined,
    database: given.dbname,
    targetSession: (parameters.target_session_attrs ?? 'any') as TargetSession, // checked
    loadBalance: parameters.load_balance_hosts === 'random',
    // As in libpq, one second is two.
    connectTimeoutMs: seconds > 0 ? Math.max(2, seconds) * 1000 : CONNECT_TIMEOUT_MS,
    keepAlive: parameters.keepalives !== '0',
    keepAliveIdleMs: Number(parameters.keepalives_idle ?? 0) * 1000,
    applicationName: parameters.application_name || parameters.fallback_application_name || undefined,
    sslMode,
    parameters,
  };
}

/** The address without password and parameters, for messages. */
export function describeTarget({ servers, parameters, database }: ConnectionTarget): string {
  const hosts = servers.map(({ host, port }) => {
    const name = isSocket(host) ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host;
    return port === DEFAULT_PORT ? name : `${name}:${port}`;
  });
  const user = parameters.user ? `${parameters.user}@` : '';
  return `postgres://${user}${hosts.join(',')}/${database}`;
}

/** Whether the host is the directory of a socket; `@` begins the name of an abstract one. */
export function isSocket(host: string): boolean {
  return host.startsWith('/') || host.startsWith('@');
}

function sslModeOf({ sslmode, sslrootcert, sslnegotiation }: Parameters): SslMode {
  const mode = (sslmode ?? (sslrootcert === 'system' ? 'verify-full' : 'prefer')) as SslMode; // checked
  if (sslrootcert === 'system' && mode !== 'verify-full')
    throw new Error(`sslmode=${mode} is too weak for sslrootcert=system: use sslmode=verify-full`);
  if (sslnegotiation === 'direct' && ['disable', 'allow', 'prefer'].includes(mode))
    throw new Error(`sslmode=${mode} is too weak for sslnegotiation=direct: use sslmode=require or stronger`);
  return mode;
}

function serversOf({ host, hostaddr, port }: Parameters): [Server, ...Server[]] {
  const addresses = hostaddr ? hostaddr.split(',') : [];
  const hosts = host ? host.split(',') : addresses.map(() => '');
  const ports = port ? port.split(',') : [];
  if (hosts.length === 0) hosts.push('');
  if (addresses.length > 0 && addresses.length !== hosts.length)
    throw new Error(
      `hostaddr has ${addresses.length} addresses for ${hosts.length} hosts: give one for each`,
    );
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new Error(
      `there are ${ports.length} ports for ${hosts.length} hosts: give one for all, or one for each`,
    );
  const [first, ...others] = hosts.map((name, index): Server => {
    const address = addresses[index];
    return {
      host: name || address || defaultHost(),
      port: portOf((ports.length === 1 ? ports[0] : ports[index]) ?? ''),
      ...(address && { address }),
    };
  });
  return [first as Server, ...others]; // there is one at least
}

function portOf(text: string): number {
  const port = text === '' ? DEFAULT_PORT : /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new Error(
    'a port must be a number from 1 to 65535; in a password, write : as %3A, / as %2F and @ as %40',
  );
}

/** Where PostgreSQL puts its socket: as Debian and Red Hat build it, or as its sources do. */
function defaultHost(): string {
  return existsSync('/var/run/postgresql') ? '/var/run/postgresql' : '/tmp';
}

const LOGIN = /(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?/.source;
const PLACE = /(?<hosts>[^/?]*)(?:\/(?<dbname>[^?]*))?/.source;
const URI = new RegExp(`^postgres(?:ql)?://${LOGIN}${PLACE}(?:\\?(?<query>.*))?$`, 's');

function parseUri(text: string): Parameters {
  const { user, password, hosts = '', dbname, query } = URI.exec(text)?.groups ?? {};
  if (!/^postgres(ql)?:\/\//.test(text) || !URI.test(text))
    throw new Error('must be an address that starts with postgres:// or postgresql://');
  // libpq takes what follows the first @ for the host. A password that is not encoded is more likely.
  if (/.@/.test(hosts) || dbname?.includes('@'))
    throw new Error('contains an unescaped @: in user and password, write @ as %40 and / as %2F');
  // Messages show the name of the database.
  if (dbname !== undefined && /[&;]\w+=/.test(dbname))
    throw new Error('has parameters without a ? before them: write /database?name=value&name=value');
  const found: Parameters = {};
  const set = (name: keyof Parameters, value: string | undefined): void => {
    if (value) found[name] = decode(value);
  };
  set('user', user);
  set('password', password);
  set('dbname', dbname);
  const list = hosts === '' ? [] : hosts.split(',').map(splitHost);
  if (list.some(({ host }) => host)) set('host', list.map(({ host }) => host).join(','));
  if (list.some(({ port }) => port)) set('port', list.map(({ port }) => port).join(','));
  return { ...found, ...parseQuery(query) };
}

function splitHost(text: string): { host: string; port: string } {
  const {
    v6,
    name,
    port = '',
  } = /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:[\]]*))(?::(?<port>.*))?$/s.exec(text)?.groups ?? {};
  const host = v6 ?? name;
  if (host === undefined) throw new Error('has a host that is not valid: IPv6 addresses stand in [brackets]');
  return { host, port };
}

function parseQuery(query: string | undefined): Parameters {
  const found: Parameters = {};
  for (const pair of query ? query.split('&') : []) {
    const [name = '', value, ...more] = pair.split('=');
    if (value === undefined || more.length > 0)
      throw new Error('has a parameter that is not of the form name=value: write = in a value as %3D');
    const key = decode(name);
    const text = decode(value);
    // JDBC's, which libpq knows as well.
    if (key === 'ssl' && text === 'true') found.sslmode = 'require';
    else {
      checkParameter(key, text);
      found[key] = text;
    }
  }
  return found;
}

function decode(text: string): string {
  try {
    const decoded = decodeURIComponent(text);
    if (!decoded.includes('\0')) return decoded;
  } catch {
    // Without the text, which may be the password.
  }
  throw new Error('has a % that does not begin a valid escape: write % as %25');
}
