// Clocks that are set back, set forward, or wrong, on a customer's machine and on the hub.
import { expect } from 'chai';
import type { LicenseClientOptions } from '../../client/client.ts';
import { readRecord, writeRecord } from '../../client/state/record.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense } from '../support/hub/license.ts';
import { createMachine, publicKeyOf } from './machine.ts';
import { createVirtualTime, DAY, HOUR, MINUTE } from './virtual-time.ts';

const OFFLINE = { hubUrl: 'http://127.0.0.1:1' };

describe('the clock of a licensed machine', () => {
  let hub: TestHub;
  let time = createVirtualTime();
  let hubAhead = 0;
  before(async () => {
    hub = await startHub({ clock: () => new Date(time.date().getTime() + hubAhead) });
  });
  after(() => hub.stop());
  beforeEach(() => {
    time = createVirtualTime();
    hubAhead = 0;
  });

  const activated = async (
    request: Parameters<typeof issueLicense>[1] = {},
    options: Partial<LicenseClientOptions> = {},
  ) => {
    const issued = await issueLicense(hub.admin, request);
    const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, issued.app)] };
    const machine = createMachine({ time, hubUrl: hub.gatewayUrl, app: issued.app, trust, ...options });
    const client = await machine.open();
    await client.activate(issued.licenseKey);
    return { issued, machine, client };
  };

  for (const about of ['a lease', 'an expiry'] as const) {
    it(`is detected when it is set back with ${about}, until it is correct again`, async () => {
      const expiresAt = { seconds: BigInt(time.date().getTime() + 30 * DAY) / 1000n, nanos: 0 };
      const { machine, client } = await activated(about === 'a lease' ? { leaseDays: 30 } : { expiresAt });
      time.advance(10 * DAY);
      expect(client.current().licensed).to.equal(true);
      machine.clock.ahead = -2 * DAY;
      expect(client.current()).to.include({ licensed: false, reason: 'clock_set_back' });
      expect(client.current().license, 'who it would be for').to.not.equal(undefined);
      machine.clock.ahead = 0;
      expect(client.current().licensed).to.equal(true);
    });
  }

  it('never locks out a license without expiry', async () => {
    const { machine, client } = await activated();
    time.advance(10 * DAY);
    for (const ahead of [3650 * DAY, -2 * DAY, -3650 * DAY]) {
      machine.clock.ahead = ahead;
      expect((await client.check()).licensed).to.equal(true);
      expect((await machine.open(OFFLINE)).current().licensed).to.equal(true);
    }
  });

  it('causes no repeated requests for a license without expiry', async () => {
    const { machine } = await activated();
    time.advance(HOUR);
    machine.clock.ahead = -2 * DAY;
    const client = await machine.open();
    machine.requests.length = 0;
    for (let minute = 0; minute < 180; minute++) {
      time.advance(MINUTE);
      await client.recheck();
    }
    expect(machine.requests).to.have.length(0);
  });

  it('is detected when it is set back between two runs', async () => {
    const { machine, client } = await activated({ leaseDays: 30 });
    time.advance(10 * DAY);
    await client.check();
    machine.clock.ahead = -2 * DAY;
    const offline = await machine.open(OFFLINE);
    expect(offline.current()).to.include({ licensed: false, reason: 'clock_set_back' });
    machine.clock.ahead = 0;
    expect((await offline.check()).licensed).to.equal(true);
  });

  it('is detected when it is set back to minutes before a stop or a kill', async () => {
    const precise = { clockToleranceMs: 0 };
    const { machine, client } = await activated({ leaseDays: 30 }, precise);
    for (const end of ['killed', 'stopped']) {
      time.advance(20 * MINUTE);
      await client.recheck(); // as it does by itself, every five minutes
      time.advance(4 * MINUTE);
      if (end === 'stopped') await client.stop();
      machine.clock.ahead = end === 'stopped' ? -1 : -5 * MINUTE;
      const again = await machine.open({ ...OFFLINE, ...precise });
      expect(again.current(), end).to.include({ licensed: false, reason: 'clock_set_back' });
      machine.clock.ahead = 0;
      expect((await again.check()).licensed).to.equal(true);
    }
  });

  it('is corrected by a response of the hub, which is requested immediately', async () => {
    const { machine } = await activated({ leaseDays: 30 });
    machine.clock.ahead = -5 * DAY;
    const client = await machine.open();
    expect(client.current()).to.include({ reason: 'clock_set_back' });
    expect((await client.recheck()).licensed).to.equal(true);
    // From then on the hub's time counts.
    time.advance(20 * DAY - 1);
    expect(client.current().licensed).to.equal(true);
    time.advance(10 * DAY + 1);
    expect(client.current()).to.include({ licensed: false, reason: 'lease_over' });
  });

  it('is correct again after both the hub and the user corrected it', async () => {
    const { machine } = await activated({ leaseDays: 30 });
    machine.clock.ahead = -5 * DAY;
    const client = await machine.open();
    await client.recheck();
    machine.clock.ahead = 0;
    time.advance(29 * DAY);
    expect(client.current().licensed).to.equal(true);
  });

  it('may be behind by a wrong time zone, which extends nothing', async () => {
    const { machine, client } = await activated({ leaseDays: 2 });
    time.advance(DAY + 20 * HOUR);
    expect((await client.check()).licensed).to.equal(true);
    machine.clock.ahead = -12 * HOUR;
    const again = await machine.open(OFFLINE);
    expect([client.current().licensed, again.current().licensed]).to.deep.equal([true, true]);
    time.advance(4 * HOUR);
    expect(client.current()).to.include({ licensed: false, reason: 'lease_over' });
    expect(again.current()).to.include({ licensed: false, reason: 'lease_over' });
  });

  it('cannot be set back by minutes repeatedly', async () => {
    const { machine, client } = await activated({ leaseDays: 1 });
    let licensed = 0;
    for (let minute = 0; minute < 3 * 24 * 60; minute++) {
      time.advance(MINUTE);
      machine.clock.ahead = -(time.date().getTime() % HOUR) - HOUR;
      if (client.current().licensed) licensed += 1;
    }
    expect(licensed).to.be.at.most(24 * 60);
  });

  it("has the tolerance of the vendor's option", async () => {
    const { machine } = await activated({ leaseDays: 30 }, { clockToleranceMs: 5 * MINUTE });
    machine.clock.ahead = -5 * MINUTE;
    expect((await machine.open(OFFLINE)).current().licensed).to.equal(true);
    machine.clock.ahead = -5 * MINUTE - 1;
    expect((await machine.open(OFFLINE)).current()).to.include({ reason: 'clock_set_back' });
  });

  it('cannot be before the signature, whatever was removed from the record', async () => {
    const { machine } = await activated({ leaseDays: 30 });
    const record = await readRecord((await machine.store.load()) ?? '');
    const long = '1970-01-01T00:00:00.000Z';
    await machine.store.save(await writeRecord({ ...record, seenAt: long, checkedAt: long }));
    machine.clock.ahead = -2 * DAY;
    expect((await machine.open(OFFLINE)).current()).to.include({ reason: 'clock_set_back' });
  });

  it('locks nobody out after it was years ahead: the record keeps only granted times', async () => {
    const { machine, client } = await activated({ leaseDays: 30 });
    machine.clock.ahead = 3650 * DAY;
    expect(client.current()).to.include({ licensed: false, reason: 'lease_over' });
    await client.check();
    machine.clock.ahead = 0;
    expect(client.current().licensed).to.equal(true);
    expect((await machine.open(OFFLINE)).current().licensed).to.equal(true);
  });

  it('ahead while the license was valid is corrected by the hub', async () => {
    const { machine, client } = await activated({ leaseDays: 30 });
    machine.clock.ahead = 20 * DAY;
    expect((await client.check()).licensed).to.equal(true);
    machine.clock.ahead = 0;
    expect((await machine.open(OFFLINE)).current()).to.include({ reason: 'clock_set_back' });
    expect((await (await machine.open()).recheck()).licensed).to.equal(true);
    expect((await machine.open(OFFLINE)).current().licensed).to.equal(true);
  });

  /** Two processes of a machine that have noted a time 20 days ahead, and whose clock is then `later` ahead. */
  const bothAhead = async (later = 0) => {
    const { machine } = await activated({ leaseDays: 30 });
    machine.clock.ahead = 20 * DAY;
    const [first, second] = [await machine.open(), await machine.open()];
    await first.check();
    expect((await second.check()).licensed).to.equal(true);
    machine.clock.ahead = later;
    time.advance(HOUR);
    expect(await second.check()).to.include({ licensed: false, reason: 'clock_set_back' });
    return { machine, first, second };
  };

  for (const savedLater of [false, true]) {
    it(`is corrected by a response of the hub to another process${savedLater ? ' that has saved the time since' : ''}`, async () => {
      const { machine, first, second } = await bothAhead();
      expect((await first.recheck()).licensed).to.equal(true);
      if (savedLater) {
        time.advance(6 * MINUTE);
        const before = await machine.store.load();
        await first.check();
        expect(await machine.store.load()).to.not.equal(before);
      }
      expect((await second.check()).licensed).to.equal(true);
      time.advance(30 * DAY);
      expect(second.current()).to.include({ licensed: false, reason: 'lease_over' });
    });
  }

  it('is still detected after a response of the hub to another process', async () => {
    const { machine, first, second } = await bothAhead(-5 * DAY);
    expect((await first.recheck()).licensed).to.equal(true);
    expect(await second.check()).to.include({ licensed: false, reason: 'clock_set_back' });
    machine.clock.ahead = 0;
    expect((await second.check()).licensed).to.equal(true);
  });

  it('is still detected by a running process if the record has an earlier time but no new response', async () => {
    const { machine, second } = await bothAhead();
    const record = await readRecord((await machine.store.load()) ?? '');
    await machine.store.save(await writeRecord({ ...record, seenAt: record.checkedAt }));
    expect(await second.check()).to.include({ licensed: false, reason: 'clock_set_back' });
  });

  it('beyond the range of dates does no harm', async () => {
    const { machine, client } = await activated();
    machine.clock.ahead = 8.64e15 - time.date().getTime();
    expect((await client.check()).licensed).to.equal(true);
    expect((await (await machine.open(OFFLINE)).check()).licensed).to.equal(true);
  });

  it('ahead permanently causes no repeated requests', async () => {
    const { machine, client } = await activated({ leaseDays: 30 });
    machine.clock.ahead = 3650 * DAY;
    machine.requests.length = 0;
    for (let minute = 0; minute < 180; minute++) {
      time.advance(MINUTE);
      await client.recheck();
    }
    expect(machine.requests.filter((request) => request.startsWith('GET /v1/status'))).to.have.length(3);
  });

  it('of a hub that was ahead locks nobody out after its correction', async () => {
    hubAhead = 365 * DAY;
    const { machine, client } = await activated({ leaseDays: 30 });
    expect(client.current().licensed).to.equal(true);
    expect((await machine.open(OFFLINE)).current()).to.include({ reason: 'clock_set_back' });
    hubAhead = 0;
    const again = await machine.open();
    expect(await again.recheck()).to.deep.include({
      licensed: true,
      validUntil: new Date(time.date().getTime() + 30 * DAY),
    });
    expect((await machine.open(OFFLINE)).current().licensed).to.equal(true);
  });
});
