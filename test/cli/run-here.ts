// Runs a line of hubctl in the process of the tests, which takes a tenth of starting a program.
import { PassThrough } from 'node:stream';
import { runLine } from '../../cli/run.ts';

export type Printed = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Against this hub, or whichever the words name. */
export async function runHere(
  words: readonly string[],
  hub?: { readonly rpcUrl: string; readonly token: string },
): Promise<Printed> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    streams[name].setEncoding('utf8').on('data', (chunk: string) => {
      printed[name] += chunk;
    });
  }
  const at = hub === undefined ? [] : ['--server', hub.rpcUrl, '--token', hub.token];
  const code = await runLine([...words, ...at], streams).done;
  return { code, ...printed };
}
