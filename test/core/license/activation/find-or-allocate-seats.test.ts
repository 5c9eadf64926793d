// Allocation decides by the state of the license under its lock, whatever was read before.
import { expect } from 'chai';
import pg from 'pg';
import { parseId } from '../../../../core/ids.ts';
import {
  findOrAllocateSeats,
  type LicenseWithSeat,
  type SeatOptions,
  type SeatRequest,
} from '../../../../core/license/activation/find-or-allocate-seats.ts';
import { hashLicenseKey, normalizeLicenseKey } from '../../../../core/license/keys/license-key.ts';
import { SigningKeyState } from '../../../../gen/hub/license/v1/license_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense, miscounted, type TestLicense } from '../../../support/hub/license.ts';
import { query } from '../../../support/postgres/databases.ts';

describe('allocating seats', () => {
  let hub: TestHub;
  let pool: pg.Pool;
  before(async () => {
    hub = await startHub();
    pool = new pg.Pool({ connectionString: hub.databaseUrl });
  });
  after(async () => {
    await pool.end();
    await hub.stop();
  });

  function requestFor({ licenseKey }: TestLicense, machineFingerprint: string): SeatRequest {
    return {
      keyHash: hashLicenseKey(normalizeLicenseKey(licenseKey) ?? ''),
      machineFingerprint,
      machineLabel: '',
      appVersion: '',
    };
  }

  function options(): SeatOptions {
    return { pool, clock: () => new Date(), seatsTaken: { inc() {} } };
  }

  /** Messages of errors; undefined if not allocated. */
  async function allocate(
    requests: readonly SeatRequest[],
  ): Promise<(LicenseWithSeat | string | undefined)[]> {
    const results = await findOrAllocateSeats(requests, 'wait', options());
    return results.map((result) => {
      if (result instanceof Error) return result.message;
      return result.newSeat && result.license;
    });
  }

  it('returns the terms of the license under its lock', async () => {
    const license = await issueLicense(hub.admin, { customer: 'Ada' });
    const request = requestFor(license, 'machine');
    await hub.admin.rotateSigningKey({ app: license.app });
    await query(
      hub.databaseUrl,
      `with renamed as (update customer set name = 'Grace' where name = 'Ada' returning id)
       update license set lease_days = 9 where customer_id in (select id from renamed)`,
    );
    const { app } = await hub.admin.getApp({ app: license.app });

    const [allocation] = await allocate([request]);
    expect(allocation).to.deep.include({
      licenseId: parseId('lic', license.licenseId),
      app: license.app,
      customer: 'Grace',
      leaseDays: 9,
      kid: app?.signingKeys.find(({ state }) => state === SigningKeyState.ACTIVE)?.kid,
    });
  });

  it('allocates nothing on a revoked, expired or full license', async () => {
    const licenses = await Promise.all(
      [{}, { customer: 'whose license ends' }, { seatLimit: 1 }].map((each) => issueLicense(hub.admin, each)),
    );
    const requests = licenses.map((license) => requestFor(license, 'machine'));
    const [revoked, , full] = licenses as [TestLicense, TestLicense, TestLicense];
    await hub.admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'test' });
    await query(
      hub.databaseUrl,
      `update license set expires_at = now() - interval '1 second'
       where customer_id in (select id from customer where name = 'whose license ends')`,
    );
    await allocate([requestFor(full, 'another machine')]);

    expect(await allocate(requests)).to.deep.equal([undefined, undefined, undefined]);
    expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
  });

  it('skips a license locked by another transaction, or waits for it', async () => {
    const licenses = await Promise.all([issueLicense(hub.admin), issueLicense(hub.admin)]);
    const requests = licenses.map((license) => requestFor(license, 'machine'));
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('select from license where key_hash = $1 for update', [requests[0]?.keyHash]);
    const [locked, free] = await findOrAllocateSeats(requests, 'skip', options());
    expect(locked).to.have.nested.property('license.seatId').that.is.null;
    expect(locked).to.have.property('newSeat').that.is.undefined;
    expect(free).to.have.nested.property('newSeat.isOutdated', false);

    const waiting = findOrAllocateSeats(requests.slice(0, 1), 'wait', options());
    await holder.query('commit');
    holder.release();
    expect((await waiting)[0]).to.have.nested.property('newSeat.isOutdated', false);
  });

  it('leaves connections to others while many machines wait for locked licenses', async () => {
    const [free, ...held] = await Promise.all(
      Array.from({ length: 6 }, () => issueLicense(hub.admin, { seatLimit: -1 })),
    );
    const machines = held.flatMap((license) =>
      Array.from({ length: 10 }, (_, index) => requestFor(license, `machine-${index}`)),
    );
    const holder = await pool.connect();
    await holder.query('begin');
    const keyHashes = machines.map(({ keyHash }) => keyHash);
    await holder.query('select from license where key_hash = any($1) for update', [keyHashes]);
    let most = 0;
    const count = (): void => {
      most = Math.max(most, pool.totalCount - pool.idleCount + pool.waitingCount);
    };
    const timer = setInterval(count, 1);
    try {
      const last = requestFor(free as TestLicense, 'm');
      const results = await findOrAllocateSeats([...machines, last], 'wait', options());
      expect(results.slice(0, -1).every((result) => result instanceof Error)).to.equal(true);
      expect(results.at(-1)).to.have.nested.property('newSeat.isOutdated', false);
    } finally {
      clearInterval(timer);
      await holder.query('rollback');
      holder.release();
    }
    // The holder has one.
    expect(most).to.be.at.most(3);
  });

  it('seats the rest of a batch when the database rejects one machine', async () => {
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
    const requests = machines.map((machine) => requestFor(license, machine));

    const [one, cursed, other] = await allocate(requests);
    expect(cursed).to.equal('it is cursed');
    for (const allocation of [one, other]) expect(allocation).to.have.property('licenseId');
    expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
  });

  it('counts the seats of its own batch, and gives a machine one seat', async () => {
    const license = await issueLicense(hub.admin, { seatLimit: 3 });
    await allocate([requestFor(license, 'a')]);
    for (const machines of [
      ['b', 'b', 'c', 'd', 'e'],
      ['c', 'd', 'e'],
    ]) {
      await allocate(machines.map((machine) => requestFor(license, machine)));
    }
    const { seats } = await hub.admin.listSeats({ licenseId: license.licenseId });
    expect(new Set(seats.map(({ machineFingerprint }) => machineFingerprint))).to.have.property('size', 3);
    expect(seats).to.have.length(3);
    expect(await miscounted(hub.databaseUrl)).to.deep.equal([]);
  });
});
