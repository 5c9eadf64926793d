// What every command is given: the streams, the global options, the output, and the hub on first use.
import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { callInterceptors } from './call-interceptors.ts';
import { chooseHub, type Typed } from './choose-hub.ts';
import type { Hub } from './connection.ts';
import { createDebug, type Debug } from './debug.ts';
import { usageError } from './failure.ts';
import { failureText } from './failure-text.ts';
import { DATA_DIR, type GlobalOptions } from './global-options.ts';
import { createInterruption, type Interruption } from './interruption.ts';
import { createOutput, type Output } from './output.ts';
import { createProgress, type Progress } from './progress.ts';
import { contextsFile, LOCAL, readContexts, type StoredContexts } from './stored-contexts.ts';
import { noHubIn, resolveTarget, type Target } from './target.ts';
import { readTokenFile } from './token-file.ts';

export type Streams = {
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
};

export type Tools = {
  readonly streams: Streams;
  readonly out: Output;
  readonly progress: Progress;
  /** What a signal does to the command. */
  readonly interruption: Interruption;
  /** What --debug tells; to be asked once the line is parsed. */
  debug(): Debug;
  /** The global options; to be asked once the line is parsed. */
  options(): GlobalOptions;
  /** A global option that was typed, or stands in the environment and is not empty. */
  typed(name: keyof GlobalOptions): Typed | undefined;
  /** The hub's address and the token, found out on the first call. @throws CliError where there is no hub */
  target(): Promise<Target>;
  /** The same where the context in use does not count, for what is about this machine. */
  localTarget(): Promise<Target>;
  /** Clients of these services of that hub. Loads Connect, and the contract of each. */
  hub<Name extends keyof Hub>(...services: Name[]): Promise<Pick<Hub, Name>>;
};

export function createTools(program: Command, streams: Streams): Tools {
  const options = (): GlobalOptions => {
    const found = program.opts<GlobalOptions>();
    return { ...found, dataDir: found.dataDir || DATA_DIR };
  };
  const typed = (name: keyof GlobalOptions): Typed | undefined => {
    const option = program.options.find((each) => each.attributeName() === name);
    const value: unknown = program.getOptionValue(name);
    const source = program.getOptionValueSource(name);
    if (value === '' && source === 'cli')
      throw usageError(`${option?.long}: this is empty. Leave it out, or give one.`);
    if (typeof value !== 'string' || value === '') return undefined; // an empty variable counts as none
    if (source === 'cli') return { value, source: 'cli', from: option?.long ?? name };
    return source === 'env' ? { value, source: 'env', from: option?.envVar ?? name } : undefined;
  };
  const secrets: string[] = [];
  const findTarget = async (contexts: () => StoredContexts): Promise<Target> => {
    const chosen = chooseHub(
      {
        context: typed('context'),
        server: typed('server'),
        dataDir: typed('dataDir'),
        token: typed('token'),
        tokenFile: typed('tokenFile'),
        ca: typed('ca'),
        clientCert: typed('clientCert'),
        clientKey: typed('clientKey'),
      },
      contexts,
      readTokenFile,
    );
    const found = await resolveTarget({ ...chosen, dataDir: options().dataDir });
    if (found.token !== undefined) secrets.push(found.token.value);
    return found;
  };
  let target: Promise<Target> | undefined;
  const json = () => options().output === 'json';
  const progress = createProgress(streams, process.env);
  const debug = (): Debug =>
    createDebug(streams, {
      on: options().debug === true || /^(1|true|yes|on)$/i.test(process.env['HUBCTL_DEBUG'] ?? ''),
      json: json(),
      secrets: () => secrets,
    });
  const out = createOutput(streams, json, progress);
  const interruption = createInterruption({
    note: out.note,
    fail(error) {
      progress.clear();
      streams.stderr.write(failureText(error, json()));
    },
  });
  const tools: Tools = {
    streams,
    progress,
    interruption,
    debug,
    out,
    options,
    typed,
    target: async () => {
      target ??= findTarget(() => readContexts(contextsFile(process.env))).then((found) => {
        const dataDir = typed('dataDir');
        // Who names a directory means its hub: no token of his goes to another.
        if (found.guessedFor !== undefined && dataDir !== undefined) throw noHubIn(dataDir);
        return found;
      });
      return target;
    },
    localTarget: async () => findTarget(() => ({ current: LOCAL, contexts: {} })),
    hub: async (...services) => {
      const found = await tools.target();
      const { connect } = await import('./connection.ts');
      return connect(found, services, callInterceptors(found.server, debug(), progress, interruption));
    },
  };
  return tools;
}
