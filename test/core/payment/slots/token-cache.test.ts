// Provider tokens: one grant for all hubs, sealed, replaced in time and at most once.
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import type { Clock } from '../../../../core/clock.ts';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import { newUuid } from '../../../../core/ids.ts';
import type { GrantedToken, TokenCache } from '../../../../core/payment/providers/driver.ts';
import { createTokenCache, GRANT_LEASE_MS } from '../../../../core/payment/slots/token-cache.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { migrateUp } from '../../../../core/storage/schema/migrate.ts';
import { readMasterKeys } from '../../../../core/storage/secrets/key-ring-file.ts';
import { createSealer } from '../../../../core/storage/secrets/sealing.ts';
import { createMigratedDatabase } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { rejectionOf } from '../providers/test-access.ts';

const sealer = createSealer(readMasterKeys('07'.repeat(32)));
const HOUR = 3_600;

describe('the token cache', () => {
  let db: Database;
  let url: string;
  let otherPool: pg.Pool;
  let now: Date;
  let slotId: string;

  before(async () => {
    url = await createMigratedDatabase();
    db = await openHubDatabase({ url }, 10, pino({ level: 'silent' }));
    await migrateUp(db);
    otherPool = new pg.Pool({ connectionString: url, max: 10 });
  });
  after(async () => {
    await otherPool.end();
    await db.close();
  });
  beforeEach(async () => {
    now = new Date('2026-11-21T12:00:00Z');
    slotId = newUuid();
    await db.pool.query(
      `insert into slot (id, name, gateway, environment, base_url, options, sealed_credentials, created_at, rotated_at)
       values ($1, gen_random_uuid()::text, 'gateway_two', 'sandbox', 'http://127.0.0.1', '{}', '', now(), now())`,
      [slotId],
    );
  });

  const clock: Clock = () => now;
  /** For the hubs and for what they have stored, whatever the database's clock says. */
  const pass = async (seconds: number): Promise<void> => {
    now = new Date(now.getTime() + seconds * 1000);
    await otherPool.query(
      `update provider_token set expires_at = expires_at - $2 * interval '1 second',
         granting_until = granting_until - $2 * interval '1 second'
       where slot_id = $1`,
      [slotId, seconds],
    );
  };
  /** The cache of a hub; each has its own memory and one of two pools. */
  const hub = (pool: pg.Pool = db.pool): TokenCache => createTokenCache({ pool, sealer, clock, slotId });
  const row = async () => {
    const { rows } = await otherPool.query('select * from provider_token where slot_id = $1', [slotId]);
    return rows[0];
  };

  /** Grants T1, T2, … and counts how many were asked for at the same time. */
  function counter(expiresInSeconds = HOUR) {
    const state = { grants: 0, atOnce: 0, mostAtOnce: 0 };
    const grant = async (): Promise<GrantedToken> => {
      state.atOnce++;
      state.mostAtOnce = Math.max(state.mostAtOnce, state.atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      state.atOnce--;
      return { token: `T${++state.grants}`, expiresInSeconds };
    };
    return { state, grant };
  }

  it('requests one token for many callers in many hubs', async () => {
    const { state, grant } = counter();
    const hubs = Array.from({ length: 6 }, (_, n) => hub(n % 2 === 0 ? db.pool : otherPool));
    const tokens = await Promise.all(
      hubs.flatMap((each) => Array.from({ length: 10 }, () => each.get(grant))),
    );
    expect(new Set(tokens)).to.deep.equal(new Set(['T1']));
    expect(state).to.include({ grants: 1, mostAtOnce: 1 });
  });

  it('reads the token of an earlier hub from the database, sealed', async () => {
    const { state, grant } = counter();
    await hub().get(grant);
    expect(await hub(otherPool).get(grant)).to.equal('T1');
    expect(state.grants).to.equal(1);
    const { sealed_token: sealed } = await row();
    expect(sealed.includes('T1')).to.equal(false);
    expect(sealer.open(sealed, `provider_token:${slotId}`).toString()).to.equal('T1');
  });

  it('replaces a token a minute before it expires', async () => {
    const { grant } = counter();
    const cache = hub();
    await cache.get(grant);
    await pass(HOUR - 61);
    expect(await cache.get(grant)).to.equal('T1');
    await pass(2);
    expect(await cache.get(grant)).to.equal('T2');
    expect(await hub().get(grant)).to.equal('T2');
  });

  it('replaces a short-lived token when a tenth of its life is left', async () => {
    const { grant } = counter(100);
    const cache = hub();
    await cache.get(grant);
    await pass(89);
    expect(await cache.get(grant)).to.equal('T1');
    await pass(2);
    expect(await cache.get(grant)).to.equal('T2');
  });

  it('replaces a rejected token once, however many hubs report it', async () => {
    const { state, grant } = counter();
    const hubs = Array.from({ length: 6 }, (_, n) => hub(n % 2 === 0 ? db.pool : otherPool));
    await Promise.all(hubs.map((each) => each.get(grant)));
    const reports = hubs.flatMap((each) => Array.from({ length: 10 }, () => each.get(grant, 'T1')));
    expect(new Set(await Promise.all(reports))).to.deep.equal(new Set(['T2']));
    expect(await hubs[0]?.get(grant, 'T1')).to.equal('T2');
    expect(state).to.include({ grants: 2, mostAtOnce: 1 });
  });

  it('holds no transaction and no connection during the request', async () => {
    const single = new pg.Pool({ connectionString: url, max: 1 });
    const token = await hub(single).get(async () => {
      const { rows } = await single.query(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and state like 'idle in%'`,
      );
      return { token: `open transactions: ${rows[0].n}`, expiresInSeconds: HOUR };
    });
    expect(token).to.equal('open transactions: 0');
    await single.end();
  });

  it('allows another attempt at once after a failed grant', async () => {
    const failure = await rejectionOf(hub().get(() => Promise.reject(new Error('the provider is out'))));
    expect(failure.message).to.equal('the provider is out');
    expect((await row()).granting_until).to.equal(null);
    expect(await hub(otherPool).get(counter().grant)).to.equal('T1');
  });

  it('fails for all callers that waited for the same grant', async () => {
    const cache = hub();
    let grants = 0;
    const grant = () => {
      grants++;
      return Promise.reject(new Error('the provider is out'));
    };
    const failures = await Promise.all(Array.from({ length: 5 }, () => rejectionOf(cache.get(grant))));
    expect(failures.map(({ message }) => message)).to.deep.equal(failures.map(() => 'the provider is out'));
    expect(grants).to.equal(1);
  });

  it('keeps the stored token when its replacement is not granted', async () => {
    const cache = hub();
    await cache.get(counter().grant);
    await rejectionOf(cache.get(() => Promise.reject(new Error('too many grants')), 'T1'));
    expect(sealer.open((await row()).sealed_token, `provider_token:${slotId}`).toString()).to.equal('T1');
  });

  it('takes over from a killed hub when its lease has expired', async () => {
    let dies = (_: Error): void => {};
    const dying = hub().get(() => new Promise((_, reject) => (dies = reject)));
    const died = rejectionOf(dying);
    await until(async () => (await row())?.granting_until != null, 'the lease is taken');
    const { state, grant } = counter();
    const waiting = hub(otherPool).get(grant);
    expect(state.grants).to.equal(0);
    await pass(GRANT_LEASE_MS / 1000);
    expect(await waiting).to.equal('T1');
    // The late failure of the first does not end the lease or the token of the second.
    dies(new Error('late'));
    await died;
    expect(await hub().get(grant)).to.equal('T1');
  });

  it('does not overwrite the token of the hub that took over', async () => {
    let answers = (_: GrantedToken): void => {};
    const slow = hub().get(() => new Promise((resolve) => (answers = resolve)));
    await until(async () => (await row())?.granting_until != null, 'the lease is taken');
    await pass(GRANT_LEASE_MS / 1000);
    expect(await hub(otherPool).get(counter().grant)).to.equal('T1');
    answers({ token: 'late', expiresInSeconds: HOUR });
    expect(await slow).to.equal('late');
    expect(await hub().get(counter().grant)).to.equal('T1');
  });

  it('does not wait forever for the lease holder, nor take over early because of a fast clock', async () => {
    now = new Date(Date.now() + HOUR * 1000);
    await otherPool.query(
      `insert into provider_token (slot_id, granting_until) values ($1, now() + interval '1 minute')`,
      [slotId],
    );
    const impatient = createTokenCache({ pool: otherPool, sealer, clock, slotId, waitMs: 200 });
    const failure = await rejectionOf(impatient.get(counter().grant));
    expect(failure.name).to.equal('ProviderUnavailable');
    expect(failure.message).to.include('another hub is requesting an access token');
  });
});
