// Faults of a PostgreSQL server.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresServer } from '../scenes/postgres-server.ts';
import type { Fault } from '../scenes/scene.ts';

export const POSTGRES_FAULTS: readonly Fault<{ readonly postgres: PostgresServer }>[] = [
  {
    name: 'postgres-restart',
    what: 'PostgreSQL shuts down in order and starts again',
    outage: 'database',
    async strike({ postgres }, ms) {
      await postgres.stop();
      await pause(ms);
      await postgres.start();
    },
  },
  {
    name: 'postgres-kill',
    what: '`kill -9` of all processes of PostgreSQL',
    outage: 'database',
    async strike({ postgres }, ms) {
      await postgres.kill();
      await pause(ms);
      await postgres.start();
    },
  },
  {
    name: 'postgres-freeze',
    what: 'PostgreSQL is frozen (`SIGSTOP`): connections stay open, nothing answers',
    outage: 'database',
    async strike({ postgres }, ms) {
      await postgres.freeze();
      try {
        await pause(Math.max(ms, NOTICED_MS));
      } finally {
        await postgres.thaw();
      }
    },
  },
  {
    name: 'postgres-connections',
    what: 'other programs take all connections of PostgreSQL',
    outage: 'database',
    strike: ({ postgres }, ms) => exhaust(postgres, Math.max(ms, NOTICED_MS)),
  },
];

/** A hub reports that it is not ready when its database has not responded for two seconds. */
const NOTICED_MS = 3_000;

/** Uses all free connections, ends the hubs' connections, and takes those before the hubs can reconnect. */
async function exhaust({ url }: PostgresServer, ms: number): Promise<void> {
  const end = performance.now() + ms;
  const first = await connect(url);
  if (first === undefined) throw new Error('there is no connection left to begin with');
  const taken = [first];
  try {
    while (performance.now() < end) {
      const many = Array.from({ length: 40 }, () => connect(url));
      await first.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'hub%'",
      );
      taken.push(...(await Promise.all(many)).filter((client) => client !== undefined));
    }
  } finally {
    await Promise.all(taken.map((client) => client.end()));
  }
}

/** Undefined if no connection is free. */
async function connect(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'greedy' });
  client.on('error', () => {}); // the connection is refused or ended with the others
  try {
    await client.connect();
    return client;
  } catch {
    return undefined;
  }
}
