// The contexts of this user: named connections to hubs, in one file that only the user can read.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { codeOf } from '../../lib/caught-error.ts';
import { readSecretFile } from '../../lib/files/secret-file.ts';
import { isObject, parseObject } from '../../lib/json-object.ts';
import { usageError } from '../errors/failure.ts';

export type StoredContext = {
  readonly server: string;
  readonly token?: string;
  /** Absolute paths of PEM files. */
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
};

export type StoredContexts = {
  /** The current context; undefined for the local hub. */
  readonly current?: string;
  readonly contexts: Readonly<Record<string, StoredContext>>;
};

/** The context of the hub on this machine, which always exists. */
export const LOCAL = 'local';

/** In the directory of the XDG Base Directory specification, which says to ignore a relative path. */
export function contextsFile(environment: NodeJS.ProcessEnv): string {
  const named = environment['XDG_CONFIG_HOME'] ?? '';
  return join(isAbsolute(named) ? named : join(homedir(), '.config'), 'hubctl', 'contexts.json');
}

/** Empty without the file. @throws CliError (usage) if others can read the file, or its content is invalid */
export function readContexts(file: string): StoredContexts {
  let text: string;
  try {
    text = readSecretFile(file, 'contexts file');
  } catch (error) {
    if (error instanceof Error && 'code' in error) {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { contexts: {} };
      throw usageError(`The contexts file ${file} cannot be read (${error.code}).`);
    }
    throw usageError(error instanceof Error ? `The ${error.message}.` : String(error));
  }
  const found = parsed(text);
  if (found !== undefined) return found;
  throw usageError(
    `The contexts file ${file} is damaged. Correct it, or remove it and add the contexts again.`,
  );
}

/** Replaces the file atomically: a reader finds the old or the new one. */
export async function writeContexts(file: string, contexts: StoredContexts): Promise<void> {
  const draft = `${file}.${process.pid}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(draft, `${JSON.stringify(contexts, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    await rename(draft, file);
  } catch (error) {
    const code = codeOf(error);
    throw usageError(
      `The contexts file ${file} cannot be written (${code}). Set XDG_CONFIG_HOME to use another directory.`,
    );
  } finally {
    await rm(draft, { force: true }).catch(() => {}); // without the directory there is no draft
  }
}

function parsed(text: string): StoredContexts | undefined {
  const { current, contexts } = parseObject(text) ?? {};
  if (!isObject(contexts) || (current !== undefined && typeof current !== 'string')) return undefined;
  const found: [string, StoredContext][] = [];
  for (const [name, context] of Object.entries(contexts)) {
    if (!isObject(context) || typeof context['server'] !== 'string') return undefined;
    const { server, token, ca, clientCert, clientKey } = context;
    const optional = { token, ca, clientCert, clientKey };
    const given = Object.entries(optional).filter(([, member]) => member !== undefined);
    if (given.some(([, member]) => typeof member !== 'string')) return undefined;
    found.push([name, { server, ...Object.fromEntries(given) }]);
  }
  return { ...(current !== undefined && { current }), contexts: Object.fromEntries(found) };
}
