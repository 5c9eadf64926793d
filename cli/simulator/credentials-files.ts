// Writes the simulator's accounts to files for `hubctl slot add --credentials-file`.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../../lib/files/make-directory.ts';
import type { Gateway } from './payment.ts';
import type { SimulatorCredentials } from './simulator.ts';

/**
 * Writes one file for each gateway, readable by its owner only, over those of an earlier run. Returns the
 * paths.
 */
export async function writeCredentialsFiles(
  credentials: SimulatorCredentials,
  directory: string,
): Promise<Record<Gateway, string>> {
  await makeDirectory(directory);
  const write = async (gateway: Gateway): Promise<string> => {
    const file = join(directory, `${gateway}.json`);
    await rm(file, { force: true }); // the mode below applies to new files only
    await writeFile(file, `${JSON.stringify(credentials[gateway], undefined, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    return file;
  };
  return {
    gateway_one: await write('gateway_one'),
    gateway_two: await write('gateway_two'),
    stripe: await write('stripe'),
  };
}
