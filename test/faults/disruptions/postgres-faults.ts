// Faults of a PostgreSQL server.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { until } from '../../support/until.ts';
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

/** Takes the connections of the hubs and all free ones, and keeps them for the given time. */
async function exhaust({ url }: PostgresServer, ms: number): Promise<void> {
  const first = await connect(url);
  if (first === undefined) throw new Error('there is no connection left to begin with');
  const taken = [first];
  const take = async (): Promise<boolean> => {
    const client = await connect(url);
    if (client !== undefined) taken.push(client);
    return client !== undefined;
  };
  // True if the hubs have no connection and none is free. Hubs reconnect at once, so this may take several rounds.
  const takeRest = async (): Promise<boolean> => {
    const many = Array.from({ length: 40 }, take);
    await Promise.all([first.query(`select pg_terminate_backend(pid) from ${HUB_CONNECTIONS}`), ...many]);
    const wasFree = await take();
    const { rows } = await first.query(`select 1 from ${HUB_CONNECTIONS}`);
    return !wasFree && rows.length === 0;
  };
  try {
    await until(takeRest, 'the hubs have no connection, and none is free');
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await pause(50);
      await takeRest(); // a connection that another program has closed
    }
  } finally {
    await Promise.all(taken.map((client) => client.end()));
  }
}

const HUB_CONNECTIONS = "pg_stat_activity where application_name like 'hub%'";

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
