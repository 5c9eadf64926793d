// Reads the files of a hub on this machine, in ./.hub or another data directory: its address, its certificate and
// its admin token.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../lib/caught-error.ts';
import { parseObject } from '../../lib/json-object.ts';
import { processPlace, stillRuns } from '../../lib/process-place.ts';
import { CliError, EXIT, usageError } from '../errors/failure.ts';
import { baseUrl, type Given } from './check-target.ts';

/**
 * The address and the certificate in `hub.json`, which a running hub writes. Undefined without the file, or if it is
 * left from a hub that was killed: another program may use the address by now.
 */
export async function readLocalHub(
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
  const { pid, place, started, rpc, rpcCertificate } = parseObject(text) ?? {};
  if (typeof rpc !== 'string') throw broken;
  // `started` is missing if an older hub wrote the file, or outside Linux.
  const start = typeof started === 'string' ? started : undefined;
  if (typeof pid === 'number' && place === processPlace() && !stillRuns(pid, start)) return undefined;
  const certificate = typeof rpcCertificate === 'string' ? rpcCertificate : undefined;
  return { server: baseUrl({ value: rpc, from: file }), certificate };
}

/** The admin token in `admin-token`, unchecked; undefined if there is none. */
export async function readLocalToken(dataDir: string): Promise<Given | undefined> {
  const file = join(dataDir, 'admin-token');
  const token = await readIfThere(file);
  return token === undefined ? undefined : { value: token, from: file };
}

/** The given directory has no running hub. */
export function noHubIn({ value: dataDir, from }: Given): CliError {
  if (!existsSync(dataDir)) return usageError(`${from}: there is no directory ${dataDir}.`);
  const remedy =
    'Start one there with `hubctl serve`, or choose another with --data-dir, --context or --server.';
  return new CliError('hub_unreachable', EXIT.unreachable, `${from}: no hub runs on ${dataDir}. ${remedy}`);
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
