// Starts the floor: minimal programs without the work of a server. A server that batches can exceed them.
import type { Throughput } from '../load/closed-loop.ts';
import { startProgram } from './child.ts';
import { createPeerDatabase } from './peer.ts';
import type { Server, Statements } from './side.ts';

export async function startBareHttp(directory: string, publicKeyPem: string): Promise<Server> {
  const env = { PUBLIC_KEY_PEM: publicKeyPem };
  const program = await startProgram(directory, { name: 'bare-http', file: '../floor/bare-http.ts', env });
  return { ...program, name: 'floor', database: undefined };
}

/** Bare node:http that sends one statement for all waiting requests, on a database like the peer's. */
export async function startBatchedStatements(directory: string): Promise<Server> {
  const { databaseUrl, database } = await createPeerDatabase();
  const env = { DATABASE_URL: databaseUrl };
  const program = await startProgram(directory, {
    name: 'batched',
    file: '../batching/batched-statements.ts',
    env,
  });
  return { ...program, name: 'batched', database };
}

/** Runs only the peer's statements, on a separate database. */
export async function startBareSql(directory: string): Promise<Statements> {
  const { databaseUrl, database } = await createPeerDatabase();
  const env = { DATABASE_URL: databaseUrl };
  const { port, ...program } = await startProgram(directory, {
    name: 'bare-sql',
    file: '../floor/sql.ts',
    env,
  });
  return {
    ...program,
    name: 'floor',
    database,
    async run({ caseName, connections, seconds }) {
      const query = new URLSearchParams({ seconds: String(seconds), connections: String(connections) });
      const response = await fetch(`http://127.0.0.1:${port}/${caseName}?${query}`);
      if (!response.ok) throw new Error(`bare SQL, ${caseName}: ${await response.text()}`);
      return (await response.json()) as Throughput; // the response of the benchmark's own program
    },
  };
}
