import { ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import type { ObjectReaders } from '../../../../core/event/read-objects.ts';
import { createEvents } from '../../../../core/event/stream/events.ts';
import { createWatchEvents } from '../../../../core/event/stream/watch-events.ts';
import { newUuid } from '../../../../core/ids.ts';
import { RetentionService } from '../../../../gen/hub/retention/v1/retention_service_pb.ts';
import { discard, makeDataDir } from '../../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { refusalCode } from '../../../support/hub/refusal.ts';
import { createMigratedDatabase, query } from '../../../support/postgres/databases.ts';
import { type EventClient, eventClient, eventsOf } from '../event-scene.ts';

describe('a stream of events', () => {
  let shared: { dataDir: string; databaseUrl: string };
  let hub: TestHub;
  let events: EventClient;
  const start = async () => {
    hub = await startHub({ beside: shared });
    events = eventClient(hub);
  };
  before(async () => {
    shared = { dataDir: await makeDataDir(), databaseUrl: await createMigratedDatabase() };
    // Events of a month that is over.
    await query(shared.databaseUrl, `select make_month_partitions('event', '{2025-01-01}')`);
    await query(
      shared.databaseUrl,
      `with counted as (insert into event_counter values ('events', 3))
       insert into event (id, number, type, object_id, at)
       select ('01942000-0000-7000-8000-00000000000' || n)::uuid, n, 'customer.created', gen_random_uuid(), now()
       from generate_series(1, 3) n`,
    );
    await start();
  });
  after(async () => {
    await hub.stop();
    await discard(shared.dataDir);
  });

  /** Takes so many events of a stream. */
  const take = async (request: object, count: number) => {
    const taken: { cursor: string; type: string; object: string }[] = [];
    for await (const { cursor, event } of events.watchEvents(request)) {
      if (event) taken.push({ cursor, type: event.type, object: event.object });
      if (taken.length === count) break;
    }
    return taken;
  };
  /** Numbers events with these UUIDs. Returns the number before. */
  const addEvents = async (ids: readonly string[]): Promise<number> => {
    const [row] = await query<{ before: string }>(
      shared.databaseUrl,
      `with counted as (
         update event_counter set last_number = last_number + cardinality($1::uuid[]) where name = 'events'
         returning last_number - cardinality($1::uuid[]) as before
       ), added as (
         insert into event (id, number, type, object_id, at)
         select id, before + n, 'customer.created', id, now()
         from counted, unnest($1::uuid[]) with ordinality as t (id, n)
       )
       select before from counted`,
      [ids],
    );
    return Number(row?.before);
  };
  const refusalOf = (request: object) => refusalCode(take(request, 1));

  it('continues after a cursor at another hub, and ends cleanly with its hub', async () => {
    const app = await createApp(hub.admin);
    const stream = events.watchEvents({ app })[Symbol.asyncIterator]();
    let { cursor } = (await stream.next()).value ?? { cursor: '' };
    const { licenseId: first } = await issueLicense(hub.admin, { app });
    const { value } = await stream.next();
    expect(value?.event?.object).to.equal(first);
    cursor = value?.cursor ?? '';
    const ended = stream.next().then(
      ({ done }) => (done ? 'ended' : 'an event'),
      (error) => ConnectError.from(error).message,
    );
    await hub.stop();
    expect(await ended).to.be.oneOf(['ended', '[unavailable] the hub is stopping']);
    await start();
    const { licenseId: second } = await issueLicense(hub.admin, { app });
    await hub.admin.suspendLicense({ licenseId: first, reason: 'test' });
    expect((await take({ app, cursor }, 2)).map(({ type, object }) => `${type} ${object}`)).to.deep.equal([
      `license.issued ${second}`,
      `license.suspended ${first}`,
    ]);
  });

  it('contains only the types and the app that it asks for', async () => {
    const [app, other] = [await createApp(hub.admin), await createApp(hub.admin)];
    const { licenseId } = await issueLicense(hub.admin, { app });
    const { licenseId: another } = await issueLicense(hub.admin, { app: other });
    await hub.admin.suspendLicense({ licenseId: another, reason: 'test' });
    await hub.admin.suspendLicense({ licenseId, reason: 'test' });
    await eventsOf(events, licenseId, 2);
    expect((await take({ app, cursor: '0' }, 2)).map(({ object }) => object)).to.deep.equal([
      licenseId,
      licenseId,
    ]);
    const filter = { types: ['license.suspended'], app: other, cursor: '0' };
    expect(await take(filter, 1)).to.deep.include.members([
      { ...(await take(filter, 1))[0], type: 'license.suspended', object: another },
    ]);
  });

  it('refuses a cursor that it has not sent, or an unknown filter', async () => {
    expect(await refusalOf({ cursor: '999999' })).to.equal('cursor_invalid');
    for (const cursor of ['-1', '01', '1.5', 'x', '99999999999999999999']) {
      expect(await refusalOf({ cursor }), cursor).to.equal('cursor_invalid');
    }
    expect(await refusalOf({ types: ['license.eaten'] })).to.equal('event_type_unknown');
    expect(await refusalOf({ slot: 'nowhere' })).to.equal('slot_unknown');
  });

  it('refuses a cursor before pruned events, and begins with the first that is left', async () => {
    expect((await take({ cursor: '1' }, 1))[0]?.cursor).to.equal('2');
    const retention = createClient(RetentionService, hub.transport);
    await retention.pruneMonths({ before: '2025-02' });
    expect(await refusalOf({ cursor: '1' })).to.equal('cursor_pruned');
    expect((await take({ cursor: '3' }, 1))[0]?.cursor).to.equal('4');
    expect((await take({ cursor: '0' }, 1))[0]?.cursor).to.equal('4');
  });

  it('begins after the last pruned event, also if one before it stays', async () => {
    // Hubs whose clocks differ number events around the end of a month.
    const [first, pruned, last] = [newUuid(), '0194ed27-dc00-7000-8000-000000000000', newUuid()];
    const before = await addEvents([first, pruned, last]);
    const retention = createClient(RetentionService, hub.transport);
    await retention.pruneMonths({ before: '2025-03' });
    expect((await take({ cursor: '0' }, 1))[0]?.cursor).to.equal(String(before + 3));
    expect((await take({ cursor: String(before + 2) }, 1))[0]?.cursor).to.equal(String(before + 3));
    expect(await refusalOf({ cursor: String(before + 1) })).to.equal('cursor_pruned');
  });

  it("delivers an event that stays because its hub's clock was wrong", async () => {
    const [early, last] = ['00000000-1000-7000-8000-000000000000', newUuid()];
    const before = await addEvents([early, last]);
    const retention = createClient(RetentionService, hub.transport);
    await query(shared.databaseUrl, `select make_month_partitions('event', '{2025-03-01}')`);
    await retention.pruneMonths({ before: '2025-04' });
    const cursors = (await take({ cursor: String(before) }, 2)).map(({ cursor }) => cursor);
    expect(cursors).to.deep.equal([String(before + 1), String(before + 2)]);
  });

  describe('whose reader is slow', () => {
    const COUNT = 1_000;
    let pool: pg.Pool;
    beforeEach(async () => {
      pool = new pg.Pool({ connectionString: await createMigratedDatabase(), max: 2 });
      const ids = Array.from({ length: COUNT }, () => newUuid());
      await pool.query(`insert into event_counter values ('events', $1)`, [COUNT]);
      await pool.query(
        `insert into event (id, number, type, object_id, at)
         select id, n, 'customer.created', id, now() from unnest($1::uuid[]) with ordinality as t (id, n)`,
        [ids],
      );
    });
    afterEach(() => pool.end());

    const nothing = async () => new Map();
    const readers: ObjectReaders = {
      license: nothing,
      seat: nothing,
      session: nothing,
      refund: nothing,
      order: nothing,
      callback: nothing,
      customer: nothing,
      endpoint: nothing,
    };
    const watch = (reads: { count: number }) => {
      const stored = createEvents(pool, readers);
      const counted = {
        ...stored,
        readAfter: (number: number, limit: number) => {
          reads.count++;
          return stored.readAfter(number, limit);
        },
      };
      const stop = new AbortController();
      return createWatchEvents(pool, counted)({ types: [], cursor: '0' }, stop.signal);
    };

    it('reads no more events than one batch ahead', async () => {
      const reads = { count: 0 };
      const stream = watch(reads);
      for (let number = 1; number <= 200; number++) {
        expect((await stream.next()).value?.cursor).to.equal(String(number));
      }
      expect(reads.count).to.equal(1);
      await stream.return(undefined);
    });

    it('fails if events are pruned that it has not reached', async () => {
      const stream = watch({ count: 0 });
      await stream.next();
      await pool.query('delete from event where number <= 500');
      let last = 1;
      const failure = await (async () => {
        for await (const { cursor } of stream) last = Number(cursor);
      })().catch((error) => error.code);
      expect(failure).to.equal('cursor_pruned');
      expect(last).to.equal(200);
    });

    it('fails if an event between others is missing', async () => {
      await pool.query('delete from event where number = 100');
      const failure = await (async () => {
        for await (const { cursor } of watch({ count: 0 })) if (cursor === String(COUNT)) return 'no failure';
        return 'no failure';
      })().catch((error) => error.code);
      expect(failure).to.equal('cursor_pruned');
    });
  });
});
