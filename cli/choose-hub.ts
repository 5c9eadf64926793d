// Which hub is meant: what was typed goes before the environment, that before the context in use, that before the local hub.
import { usageError } from './failure.ts';
import { didYouMean } from './similar.ts';
import { LOCAL, type StoredContexts } from './stored-contexts.ts';
import type { Given } from './target.ts';
import type { Trust } from './trust.ts';

/** The value of a global option, and whether it was typed or stood in the environment. */
export type Typed = { readonly value: string; readonly from: string; readonly source: 'cli' | 'env' };

export type TypedOptions = {
  readonly [Name in 'context' | 'server' | 'token' | 'tokenFile' | 'ca' | 'clientCert' | 'clientKey']?:
    | Typed
    | undefined;
} & {
  /** Undefined if it is the default. */
  readonly dataDir?: Typed | undefined;
};

export type ChosenHub = {
  readonly server?: Given | undefined;
  readonly token?: Given | undefined;
  readonly trust: Trust;
  /** The context it is of, if any but the local one. */
  readonly context?: string;
};

/**
 * Whichever of a server, a context and a data directory was typed names the hub; else whichever of them the environment
 * names; else the context in use. A context that was typed is not mixed with the environment: a token that lies there
 * for one hub is not sent to another.
 *
 * @throws CliError (usage) for what contradicts itself, and for a context that there is not.
 */
export function chooseHub(
  typed: TypedOptions,
  contexts: () => StoredContexts,
  readToken: (file: Typed) => Given,
): ChosenHub {
  const { server, context, dataDir } = typed;
  if (server?.source === 'cli' && context?.source === 'cli') {
    throw usageError('--context, --server: give one of them, not both');
  }
  const named = [server, context, dataDir];
  const chosen = named.find((each) => each?.source === 'cli') ?? named.find((each) => each?.source === 'env');
  const name = chosen === undefined ? contexts().current : chosen === context ? chosen.value : undefined;

  const ignoresEnvironment = chosen?.source === 'cli' && chosen === context;
  const usable = (option: Typed | undefined) =>
    option?.source === 'env' && ignoresEnvironment ? undefined : option;
  const token = tokenOf(usable(typed.token), usable(typed.tokenFile), readToken);
  const [ca, clientCert, clientKey] = [typed.ca, typed.clientCert, typed.clientKey].map(
    (option) => usable(option)?.value,
  );
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

/** @param from What named it; undefined if it is the one in use. @throws CliError (usage) if there is none of the name */
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
