// The context of a command: streams, global options, output, and a connection to the hub on first use.
import type { Command } from 'commander';
import { callInterceptors } from './connect/call-interceptors.ts';
import { chooseHub, resolveTarget, type Target, type Typed } from './connect/choose-hub.ts';
import type { Hub } from './connect/connection.ts';
import { lazyHub } from './connect/lazy-hub.ts';
import { noHubIn } from './connect/local-hub.ts';
import { contextsFile, LOCAL, readContexts, type StoredContexts } from './connect/stored-contexts.ts';
import { readTokenFile } from './connect/token-file.ts';
import { createDebug, type Debug } from './errors/debug.ts';
import { usageError } from './errors/failure.ts';
import { failureText } from './errors/failure-text.ts';
import { createInterruption, type Interruption } from './interrupt/interruption.ts';
import { createOutput, type Output } from './output/output.ts';
import { createProgress, type Progress } from './output/progress.ts';
import { type Decision, requireYes } from './parse/confirm.ts';
import { DATA_DIR, type GlobalOptions } from './parse/global-options.ts';
import type { Streams } from './streams.ts';

export type CommandContext = {
  readonly streams: Streams;
  readonly out: Output;
  readonly progress: Progress;
  readonly interruption: Interruption;
  /** Debug output. Call it after the command line is parsed. */
  debug(): Debug;
  /** The global options. Call it after the command line is parsed. */
  options(): GlobalOptions;
  /** A global option from the command line or the environment; undefined if it is absent or empty. */
  typed(name: keyof GlobalOptions): Typed | undefined;
  /** The address and the token of the hub, resolved on the first call. @throws CliError if there is no hub */
  target(): Promise<Target>;
  /** The same without the current context, for commands about this machine. */
  localTarget(): Promise<Target>;
  /**
   * Asks for confirmation of an irreversible action.
   * @throws CliError (usage) without a terminal, (declined) on a no, (interrupted) on Ctrl-C.
   */
  requireYes(decision: Decision): Promise<void>;
  readonly hub: Hub;
};

export function createCommandContext(program: Command, streams: Streams): CommandContext {
  const options = (): GlobalOptions => {
    const found = program.opts<GlobalOptions>();
    return { ...found, dataDir: found.dataDir || DATA_DIR };
  };
  const typed = (name: keyof GlobalOptions): Typed | undefined => {
    const option = program.options.find((each) => each.attributeName() === name);
    const value: unknown = program.getOptionValue(name);
    const source = program.getOptionValueSource(name);
    if (value === '' && source === 'cli')
      throw usageError(`${option?.long}: this is empty. Omit it or give a value.`);
    if (typeof value !== 'string' || value === '') return undefined; // an empty variable counts as unset
    if (source === 'cli') return { value, source: 'cli', from: option?.long ?? name };
    return source === 'env' ? { value, source: 'env', from: option?.envVar ?? name } : undefined;
  };
  const secrets: string[] = [];
  const findTarget = async (contexts: () => StoredContexts): Promise<Target> => {
    const chosen = chooseHub(typed, contexts, readTokenFile);
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
  const commandContext: CommandContext = {
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
        // --data-dir names one hub: never send its token to another.
        if (found.guessedFor !== undefined && dataDir !== undefined) throw noHubIn(dataDir);
        return found;
      });
      return target;
    },
    localTarget: async () => findTarget(() => ({ current: LOCAL, contexts: {} })),
    requireYes: (decision) => requireYes({ streams, target: commandContext.target }, decision),
    hub: lazyHub(async (service) => {
      const found = await commandContext.target();
      const { connect } = await import('./connect/connection.ts');
      const interceptors = callInterceptors(found.server, debug(), progress, interruption);
      return connect(found, service, interceptors);
    }),
  };
  return commandContext;
}
