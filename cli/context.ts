// What every command is given: the streams, the global options, the output, and the hub on first use.
import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import type { Hub } from './connection.ts';
import type { GlobalOptions } from './global-options.ts';
import { createOutput, type Output } from './output.ts';
import { resolveTarget, type Target } from './target.ts';

export type Streams = {
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean };
  readonly stderr: Writable & { isTTY?: boolean };
};

export type Context = {
  readonly streams: Streams;
  readonly out: Output;
  /** The global options; to be asked once the line is parsed. */
  options(): GlobalOptions;
  /** The hub's address and the token, found out on the first call. */
  target(): Promise<Target>;
  /** Clients of that hub. The first call loads Connect. */
  hub(): Promise<Hub>;
};

export function createContext(program: Command, streams: Streams): Context {
  const options = () => program.opts<GlobalOptions>();
  const given = (name: 'server' | 'token', variable: string) => {
    const value = options()[name];
    if (!value) return undefined; // an empty variable counts as none
    return { value, from: program.getOptionValueSource(name) === 'env' ? variable : `--${name}` };
  };
  let target: Promise<Target> | undefined;
  const findTarget = () => {
    target ??= resolveTarget({
      server: given('server', 'HUBCTL_SERVER'),
      token: given('token', 'HUBCTL_TOKEN'),
      dataDir: options().dataDir,
    });
    return target;
  };
  return {
    streams,
    out: createOutput(streams, () => options().output === 'json'),
    options,
    target: findTarget,
    hub: async () => {
      const found = await findTarget();
      const { connect } = await import('./connection.ts');
      return connect(found);
    },
  };
}
