// Runs the embedded PostgreSQL for one command: starts it if it is stopped, and stops it again, unless a hub
// or another command uses it by then.
import { endClient } from '../connection/client.ts';
import { beginUse, isLastUse } from './server-locks.ts';

/** Marks a server that a command has started, so that the last command stops it. A hub stops its own. */
const TEMPORARY = 'hub.temporary';

export async function postgresForCommand(dataDir: string) {
  const options = { dataDir, settings: [`${TEMPORARY}=on`] };
  const { server, client, leaveAtExit } = await beginUse(options, 'hubctl');
  const isTemporary = async (): Promise<boolean> => {
    if (!server.reused) return true;
    const { rows } = await client.query(`select current_setting($1, true) = 'on' as yes`, [TEMPORARY]);
    return rows[0].yes;
  };
  const mayStop = async (): Promise<boolean> => (await isTemporary()) && (await isLastUse(client));
  return {
    url: server.url,
    async close(): Promise<void> {
      try {
        // If the connection is lost, the server has ended, and a hub may have started it again.
        if (await mayStop().catch(() => false)) await server.stop();
      } finally {
        await endClient(client);
        leaveAtExit();
      }
    },
  };
}
