// The floor: what this machine gives without what is measured.
import { join } from 'node:path';
import type { Throughput } from '../load/closed-loop.ts';
import { startChild } from './child.ts';
import { createPeerDatabase } from './peer.ts';
import type { Server, Statements } from './side.ts';

export async function startBareHttp(directory: string, publicKeyPem: string): Promise<Server> {
  const child = await startChild({
    name: 'bare node:http',
    args: [join(import.meta.dirname, '../floor/bare-http.ts')],
    env: { PUBLIC_KEY_PEM: publicKeyPem },
    logFile: join(directory, 'bare-http.log'),
    readyMark: '"ready"',
  });
  const { port } = JSON.parse(child.ready);
  return { ...child, name: 'floor', port, warehouse: undefined };
}

/** The peer's statements by a program that does nothing else, on a database of its own. */
export async function startBareSql(directory: string): Promise<Statements> {
  const { databaseUrl, warehouse } = await createPeerDatabase();
  const child = await startChild({
    name: 'bare SQL',
    args: [join(import.meta.dirname, '../floor/sql.ts')],
    env: { DATABASE_URL: databaseUrl },
    logFile: join(directory, 'bare-sql.log'),
    readyMark: '"ready"',
  });
  const { port } = JSON.parse(child.ready);
  return {
    ...child,
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
