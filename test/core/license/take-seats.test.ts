// What is decided about a machine is decided by the license as it is when it is held, whatever was read of it before.
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { HubError } from '../../../core/errors.ts';
import { hashLicenseKey, normalizeLicenseKey } from '../../../core/license/license-key.ts';
import { readAsked } from '../../../core/license/read-asked.ts';
import {
  type NewcomerAsk,
  type Seated,
  seatNewcomers,
  type TakeOptions,
  takeSeats,
} from '../../../core/license/take-seats.ts';
import { SigningKeyState } from '../../../gen/hub/license/v1/license_pb.ts';
import { Count } from '../../../metrics/counter.ts';
import { startHub, type TestHub } from '../../support/hub.ts';
import { issueLicense, miscounted, type TestLicense } from '../../support/license.ts';
import { query } from '../../support/postgres.ts';

describe('a seat that is taken', () => {
  let hub: TestHub;
  let pool: pg.Pool;
  let warnings: string[];
  before(async () => {
    hub = await startHub();
    pool = new pg.Pool({ connectionString: hub.databaseUrl });
  });
  beforeEach(() => {
    warnings = [];
  });
  after(async () => {
    await pool.end();
    await hub.stop();
  });

  async function read({ licenseKey }: TestLicense, machineFingerprint: string): Promise<NewcomerAsk> {
    const keyHash = hashLicenseKey(normalizeLicenseKey(licenseKey) ?? '');
    const [license] = await readAsked(pool, [{ keyHash, machineFingerprint }]);
    if (license === undefined) throw new Error('there is no such license');
    return { keyHash, machineFingerprint, machineLabel: '', appVersion: '', licenseId: license.licenseId };
  }

  function options(): TakeOptions {
    return {
      pool,
      clock: () => new Date(),
      logger: pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) }),
      taken: new Count(),
    };
  }

  /** As an activation does it: together, or else under the lock. */
  async function take(asks: readonly NewcomerAsk[]): Promise<(Seated | string)[]> {
    const seated = await seatNewcomers(asks, options());
    const left = asks.filter((_, index) => seated[index] === undefined);
    const decided = (left.length > 0 ? await takeSeats(left, options()) : [])[Symbol.iterator]();
    return seated.map((each) => {
      const outcome = each ?? decided.next().value;
      if (!(outcome instanceof Error)) return outcome as Seated;
      return outcome instanceof HubError ? outcome.code : outcome.message;
    });
  }

  it('is of the terms that the license has by then', async () => {
    const license = await issueLicense(hub.admin, { customer: 'Ada' });
    const ask = await read(license, 'machine');
    await hub.admin.rotateSigningKey({ app: license.app });
    await query(
      hub.databaseUrl,
      "update license set customer = 'Grace', lease_days = 9 where customer = 'Ada'",
    );
    const { app } = await hub.admin.getApp({ app: license.app });

    const [seated] = await take([ask]);
    expect(seated)
      .to.have.property('license')
      .that.deep.includes({
        licenseId: ask.licenseId,
        app: license.app,
        customer: 'Grace',
        leaseDays: 9,
        kid: app?.signingKeys.find(({ state }) => state === SigningKeyState.ACTIVE)?.kid,
      });
  });

  it('is refused if the license was revoked, has ended or is full by then', async () => {
    const licenses = await Promise.all(
      [{}, { customer: 'whose license ends' }, { seatLimit: 1 }].map((each) => issueLicense(hub.admin, each)),
    );
    const asks = await Promise.all(licenses.map((license) => read(license, 'machine')));
    const [revoked, , full] = licenses as [TestLicense, TestLicense, TestLicense];
    await hub.admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'test' });
    await query(
      hub.databaseUrl,
      "update license set expires_at = now() - interval '1 second' where customer = 'whose license ends'",
    );
    await take([await read(full, 'another machine')]);

    expect(await take(asks)).to.deep.equal(['license_revoked', 'license_expired', 'seat_limit_reached']);
    expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
  });

  it('does not wait for who holds the license of another', async () => {
    const licenses = await Promise.all([issueLicense(hub.admin), issueLicense(hub.admin)]);
    const asks = await Promise.all(licenses.map((license) => read(license, 'machine')));
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('select from license where id = $1 for update', [asks[0]?.licenseId]);
    const [held, free] = await seatNewcomers(asks, options());
    expect(held).to.equal(undefined);
    expect(free).to.have.property('seatId');

    const decided = takeSeats(asks.slice(0, 1), options());
    await holder.query('commit');
    holder.release();
    expect((await decided)[0]).to.have.property('seatId');
  });

  it('is not lost with one that the database refuses', async () => {
    await query(
      hub.databaseUrl,
      `create function refuse() returns trigger language plpgsql as $$
       begin
         if new.machine_fingerprint = 'cursed' then raise exception 'it is cursed'; end if;
         return new;
       end $$`,
    );
    await query(
      hub.databaseUrl,
      'create trigger refuse before insert on seat for each row execute function refuse()',
    );
    const license = await issueLicense(hub.admin);
    const machines = ['one', 'cursed', 'other'];
    const asks = await Promise.all(machines.map((machine) => read(license, machine)));

    const [one, cursed, other] = await take(asks);
    expect(cursed).to.equal('it is cursed');
    for (const seated of [one, other]) expect(seated).to.have.property('seatId');
    expect(warnings).to.deep.equal(['new machines could not be seated together']);
    expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
  });
});
