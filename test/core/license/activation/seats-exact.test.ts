// A license of N seats never has more than N active seats: over clients, over hub processes, over any interleaving.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import pg from 'pg';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../../support/hub/hub-process.ts';
import { issueLicense, miscounted } from '../../../support/hub/license.ts';
import { activate, checkStatus, deactivate, type RestAnswer } from '../../../support/network/rest.ts';
import { query, readServerLog } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const SEATS = 3;

describe('the seats of a license', () => {
  let hub: TestHub;
  let neighbors: HubProcess[] = [];
  let ownDir: string;
  before(async () => {
    hub = await startHub();
    ownDir = await mkdtemp(join(tmpdir(), 'hub-test-'));
    // Two processes of their own on the same database, with the master key of the first hub.
    neighbors = await Promise.all(['one', 'two'].map(startNeighbor));
    await guardSeatCount(hub.databaseUrl);
  });
  after(async () => {
    await Promise.all(neighbors.map((neighbor) => neighbor.stop()));
    await hub.stop();
    await rm(ownDir, { recursive: true, force: true });
  });

  const startNeighbor = (name: string): Promise<HubProcess> =>
    spawnHub({
      DATABASE_URL: hub.databaseUrl,
      HUB_MASTER_KEY_FILE: join(hub.dataDir, 'master.key'),
      HUB_LOG_LEVEL: 'info',
      HUB_DATA_DIR: join(ownDir, name),
    });
  const gateway = (turn: number): string => neighbors[turn % neighbors.length]?.gatewayUrl ?? hub.gatewayUrl;

  it('go to exactly 3 of 500 machines that activate a 3-seat license concurrently', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: SEATS });
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, machine) =>
        activate(gateway(machine), licenseKey, `machine-${machine}`),
      ),
    );
    expect(countByStatus(answers)).to.deep.equal({ 200: 3, 409: 497 });
    const seatIds = answers.filter(({ status }) => status === 200).map(({ body }) => body.license.seatId);
    expect(new Set(seatIds).size).to.equal(3);
    expect((await hub.admin.getLicense({ licenseId })).license?.seats).to.include({ limit: SEATS, used: 3 });
  });

  it('go to one seat when one machine activates a hundred times concurrently', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, turn) => activate(gateway(turn), licenseKey, 'the machine')),
    );
    expect(countByStatus(answers)).to.deep.equal({ 200: 100 });
    expect(new Set(answers.map(({ body }) => body.license.seatId)).size).to.equal(1);
    expect((await hub.admin.listSeats({ licenseId, includeReleased: true })).seats).to.have.length(1);
  });

  it('never exceed the limit while 64 clients of two hubs activate and deactivate', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: SEATS });
    const seen = new Set<number>();
    const client = async (number: number): Promise<void> => {
      for (let turn = 0; turn < 12; turn++) {
        const machine = `machine-${(number + turn) % 8}`;
        const call = (number + turn) % 3 === 0 ? deactivate : activate;
        const { status } = await call(gateway(number + turn), licenseKey, machine);
        seen.add(status);
        const check = await checkStatus(gateway(number), licenseId);
        expect(check.body.seats.used).to.be.within(0, SEATS);
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)));
    expect([...seen].sort()).to.deep.equal(
      [200, 404, 409].filter((status) => status !== 404 || seen.has(404)),
    );
    expect(await active(licenseId)).to.be.within(0, SEATS);
  });

  it('match the stored count when a hub is killed during activations and releases', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: -1 });
    const victim = await startNeighbor('victim');
    const exited = once(victim.child, 'exit');
    let answered = 0;
    const seated: string[] = [];
    const machines = Array.from({ length: 200 }, async (_, number) => {
      const machine = `machine-${number}`;
      await activate(victim.gatewayUrl, licenseKey, machine);
      if (++answered === 60) victim.child.kill('SIGKILL');
      if (number % 2 === 0) seated.push(machine);
      else await deactivate(victim.gatewayUrl, licenseKey, machine);
    });
    expect((await Promise.allSettled(machines)).some(({ status }) => status === 'rejected')).to.equal(true);
    await exited;
    // What the dead hub had begun has come to its end when its connections are gone.
    await until(async () => {
      const busy = await query(
        hub.databaseUrl,
        `select from pg_stat_activity
         where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
      );
      return busy.length === 0;
    }, 'nothing is under way any more');
    expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
    expect(await activeMachines(licenseId)).to.include.all.keys(seated);
  });

  it('agree with a model over random interleavings of activate, deactivate, release, revoke and reinstate', async () => {
    const machine = fc.integer({ min: 0, max: 5 });
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ what: fc.constant('activate' as const), machine }) },
      { weight: 3, arbitrary: fc.record({ what: fc.constant('deactivate' as const), machine }) },
      { weight: 1, arbitrary: fc.record({ what: fc.constant('release' as const), machine }) },
      { weight: 1, arbitrary: fc.record({ what: fc.constant('revoke' as const), machine }) },
      { weight: 1, arbitrary: fc.record({ what: fc.constant('reinstate' as const), machine }) },
    );
    const property = fc.asyncProperty(
      fc.constantFrom(-1, 1, 2, 3, 4),
      // Waves of steps: those of one wave run at the same time, on different hubs.
      fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 6 }),
      async (limit, waves) => {
        const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: limit });
        let model = new Set<string>();
        for (const wave of waves) {
          const wasRevoked = await isRevoked(licenseId);
          const answers = await Promise.all(
            wave.map(async ({ what, machine: number }, turn) => {
              const fingerprint = `machine-${number}`;
              if (what === 'release') return void (await release(licenseId, fingerprint));
              if (what === 'revoke')
                return void (await hub.admin.revokeLicense({ licenseId, reason: 'model' }));
              if (what === 'reinstate') return void (await hub.admin.reinstateLicense({ licenseId }));
              const call = what === 'activate' ? activate : deactivate;
              return { what, answer: await call(gateway(turn), licenseKey, fingerprint) };
            }),
          );
          const rest = answers.filter((entry) => entry !== undefined);
          for (const { what, answer } of rest) {
            const allowed = what === 'activate' ? [200, 409, 410] : [200, 404];
            expect(allowed, `${what}: ${JSON.stringify(answer.body)}`).to.include(answer.status);
          }
          const seated = await activeMachines(licenseId);
          expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
          expect(await active(licenseId)).to.equal(seated.size);
          if (limit !== -1) expect(seated.size).to.be.at.most(limit);

          // Where the steps of a wave do not get in each other's way, the outcome is known to the seat.
          const only = (...kinds: string[]) => wave.every(({ what }) => kinds.includes(what));
          const machines = wave.map(({ machine }) => `machine-${machine}`);
          const independent = new Set(machines).size === machines.length;
          const named = (kind: string) => machines.filter((_, index) => wave[index]?.what === kind);
          const wanted = new Set([...model, ...named('activate')]);
          const room = limit === -1 || wanted.size <= limit;
          if (only('activate', 'deactivate') && independent && (wasRevoked || room)) {
            const expected = wasRevoked ? model : wanted;
            for (const machine of named('deactivate')) expected.delete(machine);
            expect(seated).to.deep.equal(expected);
            const refused = rest.filter(({ what, answer }) => what === 'activate' && answer.status !== 200);
            expect(refused.length).to.equal(wasRevoked ? named('activate').length : 0);
          }
          model = seated;
        }
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  it('never exceeded the limit, so that the database had to reject none', async () => {
    // Otherwise the hub would have retried unnoticed.
    const log = await readServerLog();
    const licenses = await query<{ id: string }>(hub.databaseUrl, 'select id from license');
    expect(licenses.filter(({ id }) => log.includes(`license ${id} has no seat left`))).to.deep.equal([]);
    expect(log).not.to.include('too many active seats');
  });

  async function active(licenseId: string): Promise<number> {
    return (await hub.admin.getLicense({ licenseId })).license?.seats?.used ?? Number.NaN;
  }

  async function activeMachines(licenseId: string): Promise<Set<string>> {
    const { seats } = await hub.admin.listSeats({ licenseId, pageSize: 1_000 });
    return new Set(seats.map((seat) => seat.machineFingerprint));
  }

  /** As an operator does it. */
  async function release(licenseId: string, fingerprint: string): Promise<void> {
    const { seats } = await hub.admin.listSeats({ licenseId });
    const seat = seats.find(({ machineFingerprint }) => machineFingerprint === fingerprint);
    if (seat) await hub.admin.releaseSeat({ seatId: seat.seatId });
  }

  async function isRevoked(licenseId: string): Promise<boolean> {
    return (await hub.admin.getLicense({ licenseId })).license?.revokedAt !== undefined;
  }
});

/**
 * Makes the database itself watch: at the end of every transaction that touches a seat it counts again, and refuses
 * the transaction if the license has too many. That would stand in its log, where no test here allows it.
 */
async function guardSeatCount(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create function refuse_excess_seats() returns trigger language plpgsql as $$
    begin
      if exists (
        select from license l where l.id = new.license_id and l.seat_limit <> -1 and l.seat_limit <
          (select count(*) from seat s where s.license_id = l.id and s.released_at is null)
      ) then raise exception 'too many active seats'; end if;
      return null;
    end $$;
    create constraint trigger seat_excess after insert or update on seat
      deferrable initially deferred for each row execute function refuse_excess_seats()`);
  await client.end();
}

function countByStatus(answers: readonly RestAnswer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
