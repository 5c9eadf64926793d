// Chooses the hub of a command and its token. Precedence: command line, environment, current context, local hub.
import { didYouMean } from '../errors/did-you-mean.ts';
import { usageError } from '../errors/failure.ts';
import type { GlobalOptions } from '../parse/global-options.ts';
import { baseUrl, checkToken, checkTrust, DEFAULT_SERVER, type Given } from './check-target.ts';
import { readLocalHub, readLocalToken } from './local-hub.ts';
import { LOCAL, type StoredContexts } from './stored-contexts.ts';
import type { Trust } from './trust.ts';

/** The value of a global option, and its source: command line or environment. */
export type Typed = { readonly value: string; readonly from: string; readonly source: 'cli' | 'env' };

export type ChosenHub = {
  readonly server?: Given | undefined;
  readonly token?: Given | undefined;
  readonly trust: Trust;
  /** The name of the context; undefined for the local hub. */
  readonly context?: string;
};

/**
 * A server, context or data directory on the command line names the hub; otherwise the environment does,
 * otherwise the current context. A context on the command line ignores the environment: a token for one hub
 * is never sent to another.
 * @throws CliError (usage) for a contradiction or an unknown context
 */
export function chooseHub(
  readOption: (option: keyof GlobalOptions) => Typed | undefined,
  contexts: () => StoredContexts,
  readToken: (file: Typed) => Given,
): ChosenHub {
  const [context, server, dataDir] = (['context', 'server', 'dataDir'] as const).map(readOption);
  const [givenToken, tokenFile] = (['token', 'tokenFile'] as const).map(readOption);
  const files = (['ca', 'clientCert', 'clientKey'] as const).map(readOption);
  if (server?.source === 'cli' && context?.source === 'cli') {
    throw usageError('--context, --server: give one of them, not both');
  }
  const named = [server, context, dataDir];
  const chosen = named.find((each) => each?.source === 'cli') ?? named.find((each) => each?.source === 'env');
  const name = chosen === undefined ? contexts().current : chosen === context ? chosen.value : undefined;

  const ignoresEnvironment = chosen?.source === 'cli' && chosen === context;
  const usable = (option: Typed | undefined) =>
    option?.source === 'env' && ignoresEnvironment ? undefined : option;
  const token = tokenOf(usable(givenToken), usable(tokenFile), readToken);
  const [ca, clientCert, clientKey] = files.map((option) => usable(option)?.value);
  const trust = { ca, clientCert, clientKey };
  if (name === undefined || name === LOCAL) {
    return { ...(chosen !== undefined && chosen === server && { server }), token, trust };
  }

  const stored = storedContext(name, contexts(), chosen?.from);
  const from = `the context ${name}`;
  const hasCertificate = clientCert !== undefined || clientKey !== undefined;
  return {
    context: name,
    server: { value: stored.server, from },
    token:
      token ?? (stored.token === undefined || hasCertificate ? undefined : { value: stored.token, from }),
    trust: {
      ca: ca ?? stored.ca,
      clientCert: hasCertificate ? clientCert : stored.clientCert,
      clientKey: hasCertificate ? clientKey : stored.clientKey,
    },
  };
}

function tokenOf(
  token: Typed | undefined,
  file: Typed | undefined,
  readToken: (file: Typed) => Given,
): Given | undefined {
  if (token === undefined || file === undefined) return token ?? (file && readToken(file));
  if (token.source === file.source)
    throw usageError(`${token.from}, ${file.from}: give one of them, not both`);
  return token.source === 'cli' ? token : readToken(file);
}

/**
 * @param from The option or variable that named it; undefined for the current context.
 * @throws CliError (usage) if there is no such context
 */
export function storedContext(
  name: string,
  { contexts }: StoredContexts,
  from: string | undefined,
): StoredContexts['contexts'][string] {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const source = from === undefined ? 'The context in use' : from;
  const near = didYouMean(name, [LOCAL, ...Object.keys(contexts)]);
  throw usageError(`${source}: there is no context ${name}: see \`hubctl context list\`.${near}`);
}

export type Target = {
  /** Base URL of the internal port, without a trailing slash. */
  readonly server: string;
  readonly token: Given | undefined;
  /** The data directory, if the server is a guess: nothing named a hub, and none runs on that directory. */
  readonly guessedFor: string | undefined;
  /** Why the token of the local hub was not used, if there is one and no other token was given. */
  readonly withheld: string | undefined;
  /** For an https address. */
  readonly trust?: Trust;
  /** The name of the context; undefined for the local hub and for an explicit address. */
  readonly context?: string;
};

/**
 * Finds the hub and the token. The token in a data directory is sent only to the hub of that directory: an
 * explicit server must be the one in `hub.json`.
 * @param given `server` and `token` from an option, the environment or a context; `dataDir` of a local hub.
 * @throws CliError if the address is not an http(s) URL, or a file of the data directory cannot be read
 */
export async function resolveTarget(given: {
  readonly server?: Given | undefined;
  readonly token?: Given | undefined;
  readonly trust?: Trust;
  readonly context?: string;
  readonly dataDir: string;
}): Promise<Target> {
  const { server: local, certificate } = (await readLocalHub(given.dataDir)) ?? {};
  const server = given.server === undefined ? (local ?? DEFAULT_SERVER) : baseUrl(given.server);
  const target = {
    server,
    token: undefined,
    guessedFor: given.server === undefined && local === undefined ? given.dataDir : undefined,
    withheld: undefined,
    ...checkTrust(server, { ...given.trust, ...(server === local && { certificate }) }),
    ...(given.context !== undefined && { context: given.context }),
  };
  if (given.token !== undefined) return { ...target, token: checkToken(given.token) };

  const token = await readLocalToken(given.dataDir);
  if (token === undefined) return target;
  if (server === local) return { ...target, token: checkToken(token) };
  const owner = local === undefined ? 'a local hub' : `the hub at ${local}`;
  const withheld = `The token in ${token.from} belongs to ${owner} and is not sent to other servers.`;
  return { ...target, withheld };
}
