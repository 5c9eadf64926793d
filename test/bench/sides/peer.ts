// Starts the peer with its own database on the same PostgreSQL server.
import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newUuid } from '../../../core/ids.ts';
import { thumbprint } from '../../../core/license/keys/signing-key-pair.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import {
  APP,
  CUSTOMER,
  countOf,
  LIMITS,
  MACHINE,
  machineOf,
  OFFER,
  SEATS,
  type TestDatabase,
} from '../test-data.ts';
import { startProgram } from './child.ts';
import { RATE_PER_MINUTE } from './hub.ts';
import type { Server } from './side.ts';

export type PeerSide = Server & { readonly database: TestDatabase; readonly databaseUrl: string };

export type PeerOptions = {
  readonly directory: string;
  readonly providerUrl: string;
  /** Where the peer counts requests. Empty: in memory. */
  readonly redisUrl: string;
};

/** The same-work peer. It also limits requests and callbacks, writes a log, and records its calls to the provider. */
export function startPeer({ redisUrl, ...options }: PeerOptions): Promise<PeerSide> {
  return start('peer', options, {
    HUB_BENCH_WORK: 'same',
    RATE_PER_MINUTE: String(RATE_PER_MINUTE),
    ...(redisUrl !== '' && { REDIS_URL: redisUrl }),
  });
}

/** The peer without limits and log. It does not record its calls to the provider. */
export function startBarePeer(options: Omit<PeerOptions, 'redisUrl'>): Promise<PeerSide> {
  return start('bare', options, {});
}

async function start(
  name: 'peer' | 'bare',
  { directory, providerUrl }: Omit<PeerOptions, 'redisUrl'>,
  work: Readonly<Record<string, string>>,
): Promise<PeerSide> {
  const { databaseUrl, database } = await createPeerDatabase();
  const env = { DATABASE_URL: databaseUrl, PROVIDER_URL: providerUrl, ...work };
  const program = await startProgram(directory, { name, file: '../peer/server.ts', env });
  return { ...program, name, databaseUrl, database };
}

/** Creates a database with the peer's schema, the app and the fees. */
export async function createPeerDatabase(): Promise<Pick<PeerSide, 'databaseUrl' | 'database'>> {
  const databaseUrl = await createDatabase();
  await query(databaseUrl, await readFile(join(import.meta.dirname, '../peer/schema.sql'), 'utf8'));
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await query(
    databaseUrl,
    'insert into app (slug, kid, private_key_pem, public_key_pem) values ($1, $2, $3, $4)',
    [
      APP,
      thumbprint(publicKey),
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'pem' }),
    ],
  );
  await query(
    databaseUrl,
    `insert into fee_rule (id, name, basis_points, fixed_minor) values ($1, 'gateway', 250, 0), ($2, 'platform', 100, 5)`,
    [newUuid(), newUuid()],
  );
  const { slug, name, features, validDays } = OFFER;
  await query(
    databaseUrl,
    `insert into offer (slug, app, name, seat_limit, features, valid_for)
     values ($1, $2, $3, $4, $5, make_interval(days => $6))`,
    [slug, APP, name, SEATS, features, validDays],
  );
  return { databaseUrl, database: testDatabaseOf(databaseUrl) };
}

function testDatabaseOf(databaseUrl: string): TestDatabase {
  return {
    async addLicenses(licenses) {
      await query(
        databaseUrl,
        `insert into license (id, app, key_hash, customer, seat_limit, limits)
         select id, $3, key_hash, $4, $5, $6 from unnest($1::text[], $2::bytea[]) as t (id, key_hash)`,
        [
          licenses.map(({ licenseId }) => licenseId),
          licenses.map(({ keyHash }) => keyHash),
          APP,
          CUSTOMER,
          SEATS,
          LIMITS,
        ],
      );
      await query(databaseUrl, 'analyze');
    },
    async resetSeats(licenses) {
      await query(databaseUrl, 'truncate seat');
      await query(
        databaseUrl,
        `insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, last_seen_at)
         select id, license_id, $3, $4, $5, now() from unnest($1::uuid[], $2::text[]) as t (id, license_id)`,
        [
          licenses.map(() => newUuid()),
          licenses.map(({ licenseId }) => licenseId),
          machineOf(0),
          MACHINE.label,
          MACHINE.appVersion,
        ],
      );
      await query(databaseUrl, 'analyze');
    },
    async addSessions(sessions, kind) {
      await query(
        databaseUrl,
        `insert into charge_session (id, transaction_id, status, amount_minor, currency, offer, customer)
         select id, transaction_id, 'pending', 10000, 'BDT', $3, $4
         from unnest($1::text[], $2::text[]) as t (id, transaction_id)`,
        [
          sessions.map(({ sessionId }) => sessionId),
          sessions.map(({ transactionId }) => transactionId),
          ...(kind === 'order' ? [OFFER.slug, CUSTOMER] : [null, null]),
        ],
      );
      await query(databaseUrl, 'analyze');
    },
    count: (sql) => countOf(databaseUrl, sql),
  };
}
