// Runs the simulator until a signal and prints how to use it.

import { codeOf } from '../../lib/caught-error.ts';
import { CliError, EXIT, usageError } from '../errors/failure.ts';
import { ENDING_SIGNALS, firstSignal } from '../interrupt/first-signal.ts';
import type { Streams } from '../streams.ts';
import type { SimulatorReport } from '../views/operations/simulator.ts';
import { writeCredentialsFiles } from './credentials-files.ts';
import type { FaultEvent } from './faults.ts';
import type { Gateway } from './payment.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts';

export type RunOptions = SimulatorOptions & {
  readonly credentialsDir: string | undefined;
  readonly json: boolean;
  readonly streams: Streams;
};

/**
 * Resolves after the first terminating signal.
 * @throws CliError if the port is in use or a file cannot be written
 */
export async function runSimulator({ credentialsDir, json, streams, ...options }: RunOptions): Promise<void> {
  const stopped = firstSignal(ENDING_SIGNALS);
  const onFault = json ? undefined : (event: FaultEvent) => void streams.stderr.write(faultLine(event));
  const simulator = await startSimulator({ ...options, ...(onFault && { onFault }) }).catch((error) => {
    throw cannotListen(error, options.port ?? 0, '--port');
  });
  try {
    const files = credentialsDir === undefined ? undefined : await written(simulator, credentialsDir);
    const report: SimulatorReport = {
      url: simulator.url,
      control: `${simulator.url}/_control`,
      gateways: simulator.urls,
      credentials: simulator.credentials,
      ...(files && { credentialsFiles: files }),
      faults: { seed: options.plan?.seed ?? 0, rate: options.plan?.rate ?? 0 },
    };
    streams.stdout.write(json ? `${JSON.stringify(report)}\n` : guide(report));
    await stopped;
    if (!json) streams.stdout.write('The simulator has stopped. Its payments are gone.\n');
  } finally {
    await simulator.close();
  }
}

/** Explains why the port cannot be used. @param option The option that sets it. */
export function cannotListen(
  { code, message }: NodeJS.ErrnoException,
  port: number,
  option: string,
): CliError {
  const why = code === 'EADDRINUSE' ? 'another program listens on it' : message;
  return new CliError(
    'cannot_listen',
    EXIT.failed,
    `Port ${port} cannot be used: ${why}. Choose another with ${option}; 0 takes any free one.`,
  );
}

/** A line for each fault, on standard error. */
export function faultLine({ kind, operation, ref }: FaultEvent): string {
  return `${new Date().toISOString()}  fault: ${kind} at ${operation}${ref === undefined ? '' : ` of ${ref}`}\n`;
}

async function written({ credentials }: Simulator, directory: string): Promise<Record<Gateway, string>> {
  try {
    return await writeCredentialsFiles(credentials, directory);
  } catch (error) {
    const reason = codeOf(error) ?? error;
    throw usageError(`${directory} cannot be written to (${reason}). Give another with --credentials-dir.`);
  }
}

function guide({ url, control, gateways, credentials, credentialsFiles, faults }: SimulatorReport): string {
  const add = (gateway: Gateway) => {
    const line = `npx hubctl slot add ${gateway.replace('_', '-')} --gateway ${gateway} --environment sandbox --base-url ${gateways[gateway]}`;
    return credentialsFiles === undefined
      ? `echo '${JSON.stringify(credentials[gateway])}' | ${line} --credentials-file -`
      : `${line} --credentials-file '${credentialsFiles[gateway].replaceAll("'", "'\\''")}'`;
  };
  return `The simulator is ready.

  Address      ${url}  (a page with the open payments)
  gateway_one  ${gateways.gateway_one}
  gateway_two  ${gateways.gateway_two}
  stripe       ${gateways.stripe}
  Faults       ${faults.rate === 0 ? 'only on request' : `${faults.rate * 100} % of all operations, seed ${faults.seed}`}

Paste into another terminal:

  # Add payment slots of a hub that use it
  ${add('gateway_one')}
  ${add('gateway_two')}
  ${add('stripe')}

  # Pay everything that is open
  curl -sS -X POST ${control}/pay-all -H 'Content-Type: application/json'

  # What else can be done with it: faults, forged callbacks, outages
  curl -sS ${control}

Ctrl-C stops it; its payments are gone then.
`;
}
