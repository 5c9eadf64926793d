// Resolves the hub of a command and its token: the chosen ones, or those in the data directory of a local hub.
import { baseUrl, checkToken, checkTrust, DEFAULT_SERVER, type Given } from './check-target.ts';
import { readLocalHub, readLocalToken } from './local-hub.ts';
import type { Trust } from './trust.ts';

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
