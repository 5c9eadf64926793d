// Runs the embedded PostgreSQL for one command: starts it if it is stopped, and stops it again, unless a hub
// or another command uses it by then.
import { setTimeout } from 'node:timers/promises';
import { dedicatedClient, endClient } from '../connection/client.ts';
import { beginUse, isLastUse } from './server-locks.ts';
import { RESTART_DELAY_MS } from './supervise.ts';

/** Marks a server that a command has started, so that the last command stops it. A hub stops its own. */
const TEMPORARY = 'hub.temporary';
const NAME = 'hubctl';
const ATTEMPTS = 3;
/** A crash of one process of the server ends all connections. By then, a hub has taken its lock again. */
const HUB_RETURNS_MS = 3 * RESTART_DELAY_MS;

export async function postgresForCommand(dataDir: string) {
  const options = { dataDir, settings: [`${TEMPORARY}=on`] };
  const use = await beginUse(options, NAME);
  const { server } = use;
  let { client } = use;
  const reconnect = async (): Promise<void> => {
    await endClient(client);
    client = dedicatedClient(server.url, NAME);
    client.on('error', () => {}); // the next query reports it
    await client.connect();
  };
  const isTemporary = async (): Promise<boolean> => {
    if (!server.reused && client === use.client) return true;
    const { rows } = await client.query(`select current_setting($1, true) = 'on' as yes`, [TEMPORARY]);
    return rows[0].yes;
  };
  const mayStop = async (): Promise<boolean> => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt > 1) await reconnect();
        if (!(await isTemporary())) return false;
        if (attempt > 1) await setTimeout(HUB_RETURNS_MS);
        return await isLastUse(client);
      } catch {
        // The connection is lost: the server has ended, and perhaps a hub has started it again, or one of its
        // processes has crashed, and it runs on.
        if (attempt === ATTEMPTS || !(await server.stillRuns())) return false;
      }
    }
  };
  return {
    url: server.url,
    async close(): Promise<void> {
      try {
        if (await mayStop().catch(() => false)) await server.stop();
      } finally {
        await endClient(client);
        use.leaveAtExit();
      }
    },
  };
}
