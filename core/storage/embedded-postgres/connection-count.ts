// Calculates how many connections the embedded PostgreSQL must accept.

/** Each process of a hub has one connection besides its pool, which listens for status changes. */
export const BESIDE_POOL = 1;
/** The default of PostgreSQL. */
export const DEFAULT_CONNECTIONS = 100;
/** Other connections: of the process that runs the server, of a backup. */
const MORE_CONNECTIONS = 20;

/** For the processes of one hub, each with a pool of `poolSize`. */
export function connectionCount(processes: number, poolSize: number): number {
  return Math.max(DEFAULT_CONNECTIONS, processes * (poolSize + BESIDE_POOL) + MORE_CONNECTIONS);
}
