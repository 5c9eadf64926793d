// The floor: what this machine gives without what is measured.
import type { Throughput } from '../load/closed-loop.ts';
import { startProgram } from './child.ts';
import { createPeerDatabase } from './peer.ts';
import type { Server, Statements } from './side.ts';

export async function startBareHttp(directory: string, publicKeyPem: string): Promise<Server> {
  const env = { PUBLIC_KEY_PEM: publicKeyPem };
  const program = await startProgram(directory, { name: 'bare-http', file: '../floor/bare-http.ts', env });
  return { ...program, name: 'floor', warehouse: undefined };
}

/** Bare node:http, and one statement for all requests that wait, on a database like the peer's. */
export async function startJoined(directory: string): Promise<Server> {
  const { databaseUrl, warehouse } = await createPeerDatabase();
  const env = { DATABASE_URL: databaseUrl };
  const program = await startProgram(directory, { name: 'joined', file: '../bound/joined.ts', env });
  return { ...program, name: 'joined', warehouse };
}

/** The peer's statements by a program that does nothing else, on a database of its own. */
export async function startBareSql(directory: string): Promise<Statements> {
  const { databaseUrl, warehouse } = await createPeerDatabase();
  const env = { DATABASE_URL: databaseUrl };
  const { port, ...program } = await startProgram(directory, {
    name: 'bare-sql',
    file: '../floor/sql.ts',
    env,
  });
  return {
    ...program,
    name: 'floor',
    warehouse,
    async run({ caseName, connections, seconds }) {
      const query = new URLSearchParams({ seconds: String(seconds), connections: String(connections) });
      const response = await fetch(`http://127.0.0.1:${port}/${caseName}?${query}`);
      if (!response.ok) throw new Error(`bare SQL, ${caseName}: ${await response.text()}`);
      return (await response.json()) as Throughput; // it is our own program
    },
  };
}
