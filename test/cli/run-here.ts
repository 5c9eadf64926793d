// Runs a line of hubctl in the process of the tests, which takes a tenth of starting a program.
import { PassThrough } from 'node:stream';
import { runLine } from '../../cli/run.ts';
import { environmentOf } from './spawn-hubctl.ts';

export type Printed = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Against this hub, or the one that the words name. */
export async function runHere(
  words: readonly string[],
  hub?: { readonly rpcUrl: string; readonly token: string },
): Promise<Printed> {
  const at = hub === undefined ? [] : ['--server', hub.rpcUrl, '--token', hub.token];
  return printedBy([...words, ...at]);
}

/**
 * Like `hubctl` of spawn-hubctl.ts, but in this process. Lines wait for each other, because the environment
 * belongs to the whole process.
 */
export function hubctlHere(words: readonly string[], env: Record<string, string> = {}): Promise<Printed> {
  const line = last.then(async () => {
    const original = process.env;
    process.env = environmentOf(env);
    try {
      return await printedBy(words);
    } finally {
      process.env = original;
    }
  });
  last = line.catch(() => {}); // the caller gets the error
  return line;
}
let last: Promise<unknown> = Promise.resolve();

/** With the environment and the folder of this process. */
export async function printedBy(words: readonly string[]): Promise<Printed> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    streams[name].setEncoding('utf8').on('data', (chunk: string) => {
      printed[name] += chunk;
    });
  }
  const code = await (await runLine(words, streams)).done;
  return { code, ...printed };
}
