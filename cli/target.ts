// Which hub a command talks to, and with which token: the options, else what a local hub left in its data directory.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError, EXIT, usageError } from './failure.ts';

const DEFAULT_SERVER = 'http://127.0.0.1:5100';

/** A setting and the option or variable it was read from. */
export type Given = { readonly value: string; readonly from: string };

export type Target = {
  /** Base URL of the internal port, without a trailing slash. */
  readonly server: string;
  readonly token: Given | undefined;
  /** Whether neither the options nor a running hub of the data directory named the server. */
  readonly guessed: boolean;
  /** Why the token of the local hub was not used, where there is one and no other token was given. */
  readonly withheld: string | undefined;
};

/**
 * Finds the hub and the token. The data directory's own token goes to that directory's hub only, never to another
 * address: a server given explicitly has to be the one that `hub.json` names.
 *
 * @param given `server` and `token` where an option or the environment set them; `dataDir` of a local hub.
 * @throws CliError if the address is not an http(s) URL, or a file of the data directory cannot be read.
 */
export async function resolveTarget(given: {
  server?: Given | undefined;
  token?: Given | undefined;
  dataDir: string;
}): Promise<Target> {
  const local = await readLocalServer(given.dataDir);
  const server = given.server === undefined ? (local ?? DEFAULT_SERVER) : baseUrl(given.server);
  const guessed = given.server === undefined && local === undefined;
  if (given.token !== undefined) {
    return { server, token: checkToken(given.token), guessed, withheld: undefined };
  }

  const file = join(given.dataDir, 'admin-token');
  const token = await readIfThere(file);
  if (token === undefined) return { server, token: undefined, guessed, withheld: undefined };
  if (server !== local) {
    const owner = local === undefined ? 'a local hub' : `the hub at ${local}`;
    return {
      server,
      token: undefined,
      guessed,
      withheld: `The token in ${file} belongs to ${owner} and goes nowhere else.`,
    };
  }
  return { server, token: checkToken({ value: token, from: file }), guessed, withheld: undefined };
}

/** The address in `hub.json`, which a running hub writes. */
async function readLocalServer(dataDir: string): Promise<string | undefined> {
  const file = join(dataDir, 'hub.json');
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const broken = new CliError(
    'data_dir',
    EXIT.failed,
    `${file} names no hub. Start the hub again, or give --server.`,
  );
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw broken;
  }
  if (typeof content !== 'object' || content === null || !('rpc' in content)) throw broken;
  if (typeof content.rpc !== 'string') throw broken;
  return baseUrl({ value: content.rpc, from: file });
}

function baseUrl({ value, from }: Given): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const clean = url !== undefined && url.username + url.password + url.search + url.hash === '';
  if (!clean || !/^https?:$/.test(url.protocol)) {
    throw usageError(`The server in ${from} is not an address like ${DEFAULT_SERVER}.`);
  }
  return url.href.replace(/\/+$/, '');
}

/** One line of printable ASCII, as it has to fit in a header. The message never repeats the token. */
function checkToken({ value, from }: Given): Given {
  const token = value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw usageError(`The token in ${from} is not one: give one line without spaces.`);
  }
  return { value: token, from };
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(
      'data_dir',
      EXIT.failed,
      `${file} cannot be read (${code}). Run hubctl as the user the hub runs as, or give --server and --token.`,
      { cause: error },
    );
  }
}
