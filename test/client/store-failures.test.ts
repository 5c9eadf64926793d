// What becomes of a license when the place that keeps it fails, is damaged, or is shared.
import { expect } from 'chai';
import type { LicenseClient } from '../../client/client.ts';
import { createMemoryStore, type LicenseStore } from '../../client/state/store.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { failureOf } from './failure-of.ts';
import { createMachine, publicKeyOf } from './machine.ts';
import { createVirtualTime, DAY, MINUTE } from './virtual-time.ts';

type BreakableStore = LicenseStore & { breaks: { load: boolean; save: boolean } };

/** A store whose disk can fail. */
function createBreakableStore(store = createMemoryStore()): BreakableStore {
  const breaks = { load: false, save: false };
  const orFail = async <T>(isBroken: boolean, work: () => Promise<T>): Promise<T> => {
    if (isBroken) throw new Error('the disk is gone');
    return work();
  };
  return {
    breaks,
    load: () => orFail(breaks.load, store.load),
    save: (text) => orFail(breaks.save, () => store.save(text)),
    clear: () => orFail(breaks.save, store.clear),
  };
}

describe('a license client with a store that', () => {
  let hub: TestHub;
  let issued: TestLicense;
  let trust: { publicKeyPems: string[] };
  let time = createVirtualTime();
  before(async () => {
    hub = await startHub({ clock: () => time.date() });
    issued = await issueLicense(hub.admin, { seatLimit: -1 });
    trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, issued.app)] };
  });
  after(() => hub.stop());
  beforeEach(() => {
    time = createVirtualTime();
  });

  const seatsOf = async ({ licenseId }: TestLicense): Promise<number> =>
    (await hub.admin.listSeats({ licenseId })).seats.length;
  const machineWith = (store: LicenseStore) =>
    createMachine({ time, hubUrl: hub.gatewayUrl, app: issued.app, trust, store });

  it('cannot be read: is Free, reports why, and is licensed when reads work again', async () => {
    const store = createBreakableStore();
    await (await machineWith(store).open()).activate(issued.licenseKey);
    store.breaks.load = true;
    const client = await machineWith(store).open();
    expect(client.current()).to.include({ licensed: false, reason: 'store_failed' });
    expect(client.current().problem).to.include({ code: 'store_failed', isRetryable: true });
    store.breaks.load = false;
    expect(await client.check()).to.include({ licensed: true, problem: undefined });
  });

  it('cannot be read for a while: stays licensed meanwhile', async () => {
    const store = createBreakableStore();
    const client = await machineWith(store).open();
    await client.activate(issued.licenseKey);
    store.breaks.load = true;
    const verdict = await client.check();
    expect(verdict.licensed).to.equal(true);
    expect(verdict.problem?.code).to.equal('store_failed');
  });

  it('is unreadable during an activation: keeps the stored license until the new one is saved', async () => {
    const store = createBreakableStore();
    const [before, after] = [
      await issueLicense(hub.admin, { app: issued.app }),
      await issueLicense(hub.admin, { app: issued.app }),
    ];
    await (await machineWith(store).open()).activate(before.licenseKey);
    const text = await store.load();
    store.breaks.load = true;
    const client = await machineWith(store).open();
    expect((await failureOf(client.activate(after.licenseKey))).code).to.equal('store_failed');
    expect(client.current()).to.include({ licensed: true });
    expect((await client.check()).problem?.code).to.equal('store_failed');
    store.breaks.load = false;
    expect(await store.load()).to.equal(text);
    expect(await client.check()).to.include({ licensed: true, problem: undefined });
    const again = await machineWith(store).open();
    expect(again.current().license?.licenseId).to.equal(after.licenseId);
    await again.recheck();
    expect(await seatsOf(before), 'the seat of the old license').to.equal(0);
    expect(await seatsOf(after)).to.equal(1);
  });

  it('is unreadable while a license is activated and released: keeps the stored license', async () => {
    const store = createBreakableStore();
    const other = await issueLicense(hub.admin, { app: issued.app });
    await (await machineWith(store).open()).activate(issued.licenseKey);
    store.breaks.load = true;
    const client = await machineWith(store).open();
    await failureOf(client.activate(other.licenseKey));
    expect((await failureOf(client.deactivate())).code).to.equal('store_failed');
    expect(client.current().licensed).to.equal(false);
    store.breaks.load = false;
    expect((await client.check()).license?.licenseId).to.equal(issued.licenseId);
  });

  it('cannot be written: keeps its license, and saves it when writes work again', async () => {
    const store = createBreakableStore();
    store.breaks.save = true;
    const client = await machineWith(store).open();
    expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('store_failed');
    expect(client.current().licensed).to.equal(true);
    expect((await client.check()).problem?.code).to.equal('store_failed');
    expect((await machineWith(store).open()).current().licensed).to.equal(false);
    store.breaks.save = false;
    expect((await client.check()).problem).to.equal(undefined);
    expect((await machineWith(store).open()).current().licensed).to.equal(true);
  });

  it('cannot be written: still ends a license', async () => {
    const store = createBreakableStore();
    const license = await issueLicense(hub.admin, { app: issued.app });
    const client = await machineWith(store).open();
    await client.activate(license.licenseKey);
    await hub.admin.revokeLicense({ licenseId: license.licenseId, reason: 'refund' });
    store.breaks.save = true;
    expect(await client.recheck({ force: true })).to.include({ licensed: false, reason: 'license_revoked' });
    expect(await client.check()).to.include({ licensed: false, reason: 'license_revoked' });
    store.breaks.save = false;
    await client.check();
    expect((await machineWith(store).open()).current()).to.include({ reason: 'license_revoked' });
  });

  it('cannot be cleared: still drops a released license', async () => {
    const store = createBreakableStore();
    const client = await machineWith(store).open();
    await client.activate(issued.licenseKey);
    store.breaks.save = true;
    expect((await failureOf(client.deactivate())).code).to.equal('store_failed');
    expect((await client.check()).licensed).to.equal(false);
    store.breaks.save = false;
    await client.check();
    expect(await store.load()).to.equal(undefined);
  });

  for (const [what, damage] of [
    ['is empty', () => ''],
    ['is cut off', (text: string) => text.slice(0, text.length / 2)],
    ['holds something else', () => '{"theme":"dark"}'],
    ['holds a record of a later version', (text: string) => text.replace('license-1', 'license-2')],
    [
      'was edited',
      (text: string) => text.replace('"recheckAfterSeconds":86400', '"recheckAfterSeconds":99999'),
    ],
  ] as const) {
    it(`${what}: is Free, and can be activated again`, async () => {
      const store = createMemoryStore();
      const client = await machineWith(store).open();
      await client.activate(issued.licenseKey);
      const text = (await store.load()) ?? '';
      expect(damage(text)).to.not.equal(text);
      await store.save(damage(text));
      expect(await client.check()).to.include({ licensed: false, reason: 'record_unreadable' });
      const again = await machineWith(store).open();
      expect(again.current()).to.include({ licensed: false, reason: 'record_unreadable' });
      expect((await again.recheck()).licensed).to.equal(false);
      expect((await again.activate(issued.licenseKey)).licensed).to.equal(true);
    });
  }

  it('returns null, like those of browsers: treats it as empty', async () => {
    const store = { ...createMemoryStore(), load: async () => JSON.parse('null') };
    expect((await machineWith(store).open()).current()).to.include({ reason: 'no_license' });
  });

  it('is shared with another process: sees its changes', async () => {
    const store = createMemoryStore();
    const [one, other] = [await machineWith(store).open(), await machineWith(store).open()];
    await one.activate(issued.licenseKey);
    expect((await other.check()).licensed).to.equal(true);
    time.advance(DAY);
    await one.recheck();
    expect((await other.check()).licensed).to.equal(true);
    await other.deactivate();
    expect((await one.check()).licensed).to.equal(false);
  });

  /** Two processes of one machine; the saves of the first one fail while `breaks.save` is set. */
  const twoProcesses = async () => {
    const shared = createMemoryStore();
    const store = createBreakableStore(shared);
    const other = await issueLicense(hub.admin, { app: issued.app });
    const [first, second] = [await machineWith(store).open(), await machineWith(shared).open()];
    await first.activate(issued.licenseKey);
    await second.check();
    const stored = async () => (await machineWith(shared).open()).current().license?.licenseId;
    return { store, breaks: store.breaks, first, second, other, stored };
  };

  it('has another license after a failed save of the time: keeps that one', async () => {
    const { breaks, first, second, other, stored } = await twoProcesses();
    time.advance(6 * MINUTE);
    breaks.save = true;
    expect((await first.check()).problem?.code).to.equal('store_failed');
    breaks.save = false;
    await second.activate(other.licenseKey);
    expect(await first.check()).to.include({ licensed: true, problem: undefined });
    expect(first.current().license?.licenseId).to.equal(other.licenseId);
    expect(await stored()).to.equal(other.licenseId);
  });

  for (const [what, act] of [
    ['a check', (client: LicenseClient) => client.check()],
    ['a soft check', (client: LicenseClient) => client.recheck({ force: true })],
    ['the end of the application', (client: LicenseClient) => client.stop()],
    ['a release', (client: LicenseClient) => failureOf(client.deactivate())],
  ] as const) {
    it(`is unreadable during ${what}: keeps the license that another process saved`, async () => {
      const { breaks, first, second, other, stored } = await twoProcesses();
      await second.activate(other.licenseKey);
      time.advance(6 * MINUTE);
      breaks.load = true;
      await act(first);
      expect(first.current().problem?.code).to.equal('store_failed');
      expect(await stored()).to.equal(other.licenseId);
      breaks.load = false;
      expect((await first.check()).license?.licenseId).to.equal(other.licenseId);
      expect(first.current().problem?.code).to.not.equal('store_failed');
    });
  }

  it('is unreadable during an activation, and gets another license: releases the unsaved one', async () => {
    const { breaks, first, second, other, stored } = await twoProcesses();
    const unsaved = await issueLicense(hub.admin, { app: issued.app });
    breaks.load = true;
    expect((await failureOf(first.activate(unsaved.licenseKey))).code).to.equal('store_failed');
    await second.activate(other.licenseKey);
    breaks.load = false;
    expect((await first.check()).license?.licenseId).to.equal(other.licenseId);
    expect(await stored()).to.equal(other.licenseId);
    expect(await seatsOf(unsaved)).to.equal(1);
    await second.recheck({ force: true });
    expect(await seatsOf(unsaved), 'the seat of the unsaved license').to.equal(0);
    expect(await seatsOf(other)).to.equal(1);
  });

  it('has another license, and a later time after a failed save: releases the unsaved one', async () => {
    const { breaks, first, second, other, stored } = await twoProcesses();
    const unsaved = await issueLicense(hub.admin, { app: issued.app });
    breaks.save = true;
    await failureOf(first.activate(unsaved.licenseKey));
    await second.activate(other.licenseKey);
    expect((await first.check()).problem?.code).to.equal('store_failed');
    time.advance(6 * MINUTE);
    await second.check();
    breaks.save = false;
    expect(await first.check()).to.include({ licensed: true, problem: undefined });
    expect(await stored()).to.equal(other.licenseId);
    await second.recheck({ force: true });
    expect(await seatsOf(unsaved), 'the seat of the unsaved license').to.equal(0);
    expect(await seatsOf(other)).to.equal(1);
  });

  it('is read at last, but not written, after an activation: keeps what another process saves then', async () => {
    const { store, breaks, second, other, stored } = await twoProcesses();
    const unsaved = await issueLicense(hub.admin, { app: issued.app });
    breaks.load = true;
    const client = await machineWith(store).open();
    await failureOf(client.activate(unsaved.licenseKey));
    Object.assign(breaks, { load: false, save: true });
    expect((await client.check()).problem?.code).to.equal('store_failed');
    expect(client.current().license?.licenseId).to.equal(unsaved.licenseId);
    await second.activate(other.licenseKey);
    breaks.save = false;
    expect((await client.check()).license?.licenseId).to.equal(other.licenseId);
    expect(await stored()).to.equal(other.licenseId);
  });

  it('has a suspension of the same license after a failed save of the time: keeps it', async () => {
    const { breaks, first, second, other } = await twoProcesses();
    await first.activate(other.licenseKey);
    time.advance(6 * MINUTE);
    breaks.save = true;
    await first.check();
    breaks.save = false;
    await hub.admin.suspendLicense({ licenseId: other.licenseId, reason: 'not paid' });
    await second.recheck({ force: true });
    expect(await first.check()).to.include({ licensed: false, reason: 'license_suspended' });
    expect(await second.check()).to.include({ licensed: false, reason: 'license_suspended' });
  });

  it('has a later time of the same license after a failed save of a new license: saves the new one', async () => {
    const { breaks, first, second, other, stored } = await twoProcesses();
    breaks.save = true;
    expect((await failureOf(first.activate(other.licenseKey))).code).to.equal('store_failed');
    breaks.save = false;
    time.advance(6 * MINUTE);
    await second.check();
    expect(await first.check()).to.include({ licensed: true, problem: undefined });
    expect(await stored()).to.equal(other.licenseId);
    expect((await second.check()).license?.licenseId).to.equal(other.licenseId);
  });

  it('has another license when the response arrives: keeps that one', async () => {
    const store = createMemoryStore();
    const revoked = await issueLicense(hub.admin, { app: issued.app });
    const client = await machineWith(store).open();
    await client.activate(revoked.licenseKey);
    await hub.admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'refund' });
    const other = await machineWith(store).open();
    const late: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      await other.activate(issued.licenseKey);
      return answer;
    };
    const slow = await machineWith(store).open({ fetch: late });
    expect(await slow.recheck({ force: true })).to.include({ licensed: true });
    expect((await machineWith(store).open()).current().license?.licenseId).to.equal(issued.licenseId);
  });

  it('has another license when its own seat is released: keeps that one', async () => {
    const { store, second, other, stored } = await twoProcesses();
    const late: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      await second.activate(other.licenseKey);
      return answer;
    };
    const slow = await machineWith(store).open({ fetch: late });
    const verdict = await slow.deactivate();
    expect(verdict.license?.licenseId).to.equal(other.licenseId);
    expect(await stored()).to.equal(other.licenseId);
  });
});
