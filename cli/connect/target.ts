// Resolves the hub of a command and its token: the chosen ones, or those in the data directory of a local
// hub.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../lib/caught-error.ts';
import { CliError, EXIT, usageError } from '../errors/failure.ts';
import type { Trust } from './trust.ts';

const DEFAULT_SERVER = 'http://127.0.0.1:5100';

/** A setting, and the option or variable that set it. */
export type Given = { readonly value: string; readonly from: string };

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
  const target = await findTarget(given);
  return { ...target, ...(given.context !== undefined && { context: given.context }) };
}

async function findTarget(given: Parameters<typeof resolveTarget>[0]): Promise<Target> {
  const { server: local, certificate } = (await readLocalHub(given.dataDir)) ?? {};
  const server = given.server === undefined ? (local ?? DEFAULT_SERVER) : baseUrl(given.server);
  const guessedFor = given.server === undefined && local === undefined ? given.dataDir : undefined;
  const trust = checkTrust(server, { ...given.trust, ...(server === local && { certificate }) });
  if (given.token !== undefined) {
    return { server, token: checkToken(given.token), guessedFor, withheld: undefined, ...trust };
  }

  const file = join(given.dataDir, 'admin-token');
  const token = await readIfThere(file);
  if (token === undefined) return { server, token: undefined, guessedFor, withheld: undefined, ...trust };
  if (server !== local) {
    const owner = local === undefined ? 'a local hub' : `the hub at ${local}`;
    return {
      server,
      token: undefined,
      guessedFor,
      withheld: `The token in ${file} belongs to ${owner} and is not sent to other servers.`,
      ...trust,
    };
  }
  return {
    server,
    token: checkToken({ value: token, from: file }),
    guessedFor,
    withheld: undefined,
    ...trust,
  };
}

/** The given directory has no running hub. */
export function noHubIn({ value: dataDir, from }: Given): CliError {
  if (!existsSync(dataDir)) return usageError(`${from}: there is no directory ${dataDir}.`);
  const remedy =
    'Start one there with `hubctl serve`, or choose another with --data-dir, --context or --server.';
  return new CliError('hub_unreachable', EXIT.unreachable, `${from}: no hub runs on ${dataDir}. ${remedy}`);
}

/** The TLS options must be complete and must apply. */
export function checkTrust(server: string, trust: Trust): { trust?: Trust } {
  const { ca, clientCert, clientKey } = trust;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError('Give --client-cert and --client-key together: the certificate and its key.');
  }
  if (server.startsWith('https:')) return { trust };
  const idle = [ca !== undefined && '--ca', clientCert !== undefined && '--client-cert'].find(Boolean);
  if (idle) throw usageError(`${idle} needs an https address, but the server is ${server}.`);
  return {};
}

/** The address and the certificate in `hub.json`, which a running hub writes. */
async function readLocalHub(
  dataDir: string,
): Promise<{ server: string; certificate?: string | undefined } | undefined> {
  const file = join(dataDir, 'hub.json');
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const broken = new CliError(
    'data_dir',
    EXIT.failed,
    `${file} names no hub. Restart the hub, or give --server.`,
  );
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw broken;
  }
  if (typeof content !== 'object' || content === null || !('rpc' in content)) throw broken;
  if (typeof content.rpc !== 'string') throw broken;
  const certificate =
    'rpcCertificate' in content && typeof content.rpcCertificate === 'string'
      ? content.rpcCertificate
      : undefined;
  return { server: baseUrl({ value: content.rpc, from: file }), certificate };
}

/** @throws CliError (usage) if it is not an address like http://127.0.0.1:5100 */
export function baseUrl({ value, from }: Given): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const clean = url !== undefined && url.username + url.password + url.search + url.hash === '';
  if (!clean || !/^https?:$/.test(url.protocol)) {
    throw usageError(`The server in ${from} is not an address like ${DEFAULT_SERVER}.`);
  }
  return url.href.replace(/\/+$/, '');
}

/** One line of printable ASCII, as a header requires. The message never contains the token. */
export function checkToken({ value, from }: Given): Given {
  const token = value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw usageError(`The token in ${from} is invalid: give one line without spaces.`);
  }
  return { value: token, from };
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(
      'data_dir',
      EXIT.failed,
      `${file} cannot be read (${code}). Run hubctl as the hub's user, or give --server and --token-file.`,
      { cause: error },
    );
  }
}
