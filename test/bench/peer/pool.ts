// The peer's connections to its database.
import pg from 'pg';

/** The best of 4, 8, 10, 16 and 32 on two cores: additional connections only wait for each other. */
const POOL_SIZE = 10;

export function openPool(): pg.Pool {
  return new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: POOL_SIZE });
}
