// A real hub in its own process, for tests that send signals, kill it or run several hubs.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type HubProcess = {
  readonly child: ChildProcess;
  readonly gatewayUrl: string;
  readonly rpcUrl: string;
  /** The URL of the gateway role's metrics. */
  readonly metricsUrl: string;
  /** The standard output so far. */
  readonly lines: string[];
  /** The standard error so far. */
  complaints(): string;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
};

/** Contains the path of the bundled hubctl. */
export const PROGRAM_VARIABLE = 'TEST_HUBCTL';

/** The source of hubctl: a process that runs it loads each module by its name. */
export const HUBCTL_SOURCE = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

/** The bundled hubctl if the setup of the test run has built it, else that of the checkout. */
export const HUBCTL =
  process.env[PROGRAM_VARIABLE] ?? fileURLToPath(new URL('../../../cli/hubctl.js', import.meta.url));

/**
 * Runs `hubctl serve` on free ports with only these variables, which may also set the ports. It can run as
 * another user or from another checkout.
 * @throws Error with the output if it does not start
 */
export async function spawnHub(
  environment: Record<string, string>,
  account?: { readonly uid: number; readonly gid: number },
  program = HUBCTL,
): Promise<HubProcess> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HUB_WORKERS: '1',
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
  died.catch(() => {}); // the test handles a later exit
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
