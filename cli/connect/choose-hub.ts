// Chooses the hub. Precedence: command line, environment, current context, local hub.

import { didYouMean } from '../errors/did-you-mean.ts';
import { usageError } from '../errors/failure.ts';
import type { GlobalOptions } from '../parse/global-options.ts';
import type { Given } from './check-target.ts';
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
