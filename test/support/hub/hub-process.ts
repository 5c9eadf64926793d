// A real hub in a process of its own, to send signals to, to kill, and to run beside another.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type HubProcess = {
  readonly child: ChildProcess;
  readonly gatewayUrl: string;
  readonly rpcUrl: string;
  /** Of the role gateway. */
  readonly metricsUrl: string;
  /** Everything it wrote to standard output so far. */
  readonly lines: string[];
  /** Everything it wrote to standard error so far. */
  complaints(): string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
};

export const HUBCTL = fileURLToPath(new URL('../../../cli/hubctl.js', import.meta.url));

/**
 * `hubctl serve` on free ports, unless these variables name others, with these variables and nothing else of the hub's, as the user of the tests or as
 * another, from this checkout or from another. Rejects with what it said.
 */
export async function spawnHub(
  environment: Record<string, string>,
  account?: { readonly uid: number; readonly gid: number },
  program = HUBCTL,
): Promise<HubProcess> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HUB_LICENSE_RATE_PER_MINUTE: '0',
      HUB_WRONG_GUESSES: '0',
      HUB_PORT: '0',
      HUB_RPC_PORT: '0',
      HUB_DRAIN_SECONDS: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...account,
  });
  const lines: string[] = [];
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const ready = new Promise<{ gateway: string; rpc: string; metrics: string }>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      if (line.includes('hub is ready')) resolve(JSON.parse(line));
    });
  });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the hub exited with ${code}: ${complaints}${lines.slice(-3).join('\n')}`);
  });
  const { gateway, rpc, metrics } = await Promise.race([ready, died]);
  died.catch(() => {}); // it may die later: that is the test's affair
  return {
    child,
    gatewayUrl: gateway,
    rpcUrl: rpc,
    metricsUrl: metrics,
    lines,
    complaints: () => complaints,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}
