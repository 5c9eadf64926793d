// Parses REDIS_URL: one server, Sentinels, or the nodes of a cluster.

export type RedisNode = { readonly host: string; readonly port: number };

export type RedisAddress = {
  /** Redis servers, or the Sentinels that know them. */
  readonly nodes: readonly RedisNode[];
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  /** `rediss:` and `rediss-sentinel:`. */
  readonly tls: boolean;
  /** Set for Sentinel: the name of the primary they watch, and their own credentials if they have any. */
  readonly sentinel?: { readonly name: string; readonly username?: string; readonly password?: string };
};

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Forms:
 *
 * redis://[user:password@]host[:port][/database]            one server
 * redis://[user:password@]host1:port,host2:port              nodes of a cluster (REDIS_CLUSTER=1)
 * redis-sentinel://[user:password@]host1,host2/name[/database][?sentinelUsername=…&sentinelPassword=…]
 *
 * `rediss` and `rediss-sentinel` are the same over TLS. A password with special characters is
 * percent-encoded.
 *
 * @throws Error that names the wrong part and never shows the value, which may contain a password
 */
export function parseRedisAddress(text: string): RedisAddress {
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^(rediss?(?:-sentinel)?):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?$/.exec(text) ?? [];
  if (scheme === '') {
    throw new Error('must start with redis://, rediss://, redis-sentinel:// or rediss-sentinel://');
  }
  const isSentinel = scheme.endsWith('-sentinel');
  const at = authority.lastIndexOf('@');
  const hosts = authority.slice(at + 1).split(',');
  const nodes = hosts.map((host) => parseNode(host, isSentinel ? SENTINEL_PORT : REDIS_PORT));
  const segments = path
    .split('/')
    .slice(1)
    .filter((segment) => segment !== '');
  const name = isSentinel ? segments.shift() : undefined;
  if (isSentinel && name === undefined) {
    throw new Error('must name the primary that the Sentinels watch: redis-sentinel://host1,host2/name');
  }
  const [database = '0', ...rest] = segments;
  if (!/^\d{1,4}$/.test(database) || rest.length > 0)
    throw new Error('the database must be a number, as in /0');
  const parameters = new URLSearchParams(query);
  return {
    nodes,
    ...credentials(at < 0 ? '' : authority.slice(0, at)),
    database: Number(database),
    tls: scheme.startsWith('rediss'),
    ...(name !== undefined && {
      sentinel: {
        name: decode(name),
        ...optional('username', parameters.get('sentinelUsername')),
        ...optional('password', parameters.get('sentinelPassword')),
      },
    }),
  };
}

/** The servers, without credentials: for messages. */
export function describeRedis({ nodes, sentinel }: RedisAddress): string {
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
  return sentinel ? `${sentinel.name} (Sentinels ${hosts})` : hosts;
}

function parseNode(text: string, defaultPort: number): RedisNode {
  const [, host = '', port = ''] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '' || Number(port) > 65_535) {
    throw new Error('each server must be host or host:port, several separated by commas');
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}

function credentials(userInfo: string): Pick<RedisAddress, 'username' | 'password'> {
  const colon = userInfo.indexOf(':');
  const [username, password] =
    colon < 0 ? [userInfo, ''] : [userInfo.slice(0, colon), userInfo.slice(colon + 1)];
  return { ...optional('username', decode(username)), ...optional('password', decode(password)) };
}

function optional<K extends string>(key: K, value: string | null): { [T in K]?: string } {
  return (value ? { [key]: value } : {}) as { [T in K]?: string }; // a computed name loses its type
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('a percent sign in user, password or name must be written as %25');
  }
}
