// The terms of a license in the client: features, metadata, grace, changes and suspension.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import type { LicenseClientOptions } from '../../client/client.ts';
import { readRecord } from '../../client/state/record.ts';
import { createMemoryStore } from '../../client/state/store.ts';
import type { UpdateLicenseRequest } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { failureOf } from './failure-of.ts';
import { createMachine, FREE, type Machine, publicKeyOf } from './machine.ts';
import { createVirtualTime, DAY, HOUR, MINUTE } from './virtual-time.ts';

const OFFLINE = { hubUrl: 'http://127.0.0.1:1' };
const ACTIVATION = 'POST /v1/activate';

type NewTerms = Partial<Pick<UpdateLicenseRequest, 'features' | 'metadata' | 'graceDays' | 'expiresAt'>>;

describe('the terms of a license', () => {
  let hub: TestHub;
  let time = createVirtualTime();
  before(async () => {
    hub = await startHub({ clock: () => time.date() });
  });
  after(() => hub.stop());
  beforeEach(() => {
    time = createVirtualTime();
  });

  /** Replaces the terms that are given. */
  const change = ({ licenseId }: TestLicense, terms: NewTerms) => {
    const paths = Object.keys(terms).map((name) =>
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
    return hub.admin.updateLicense({ licenseId, updateMask: { paths }, ...terms });
  };
  const machineFor = async (
    { app }: TestLicense,
    options: Partial<LicenseClientOptions> = {},
  ): Promise<Machine> => {
    const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, app)] };
    return createMachine({ time, hubUrl: hub.gatewayUrl, app, trust, ...options });
  };
  const activated = async (
    request: Parameters<typeof issueLicense>[1] = {},
    options: Partial<LicenseClientOptions> = {},
  ) => {
    const issued = await issueLicense(hub.admin, request);
    const machine = await machineFor(issued, options);
    const client = await machine.open();
    await client.activate(issued.licenseKey);
    machine.requests.length = 0;
    return { issued, machine, client };
  };
  const inDays = (days: number): Date => new Date(time.date().getTime() + days * DAY);
  const until = (days: number) => ({ expiresAt: timestampFromDate(inDays(days)) });
  const suspend = ({ licenseId }: TestLicense) => hub.admin.suspendLicense({ licenseId, reason: 'not paid' });
  const resume = ({ licenseId }: TestLicense) => hub.admin.resumeLicense({ licenseId });

  /** Soft-checks until the license is requested: then the caller aborts, or nothing happens any more. */
  const interruptFetch = async (machine: Machine, how: 'aborted' | 'killed'): Promise<void> => {
    const caller = new AbortController();
    const { promise: requested, resolve: request } = Promise.withResolvers<void>();
    const silent: typeof fetch = (input, init) => {
      if (init?.method !== 'POST') return fetch(input, init);
      request();
      return new Promise(() => {});
    };
    const client = await machine.open({ fetch: silent, timeoutMs: DAY });
    const call = client.recheck({ force: true, signal: caller.signal });
    await requested;
    if (how === 'killed') return;
    caller.abort();
    expect((await failureOf(call)).code).to.equal('aborted');
  };

  it('name features and metadata, also after a restart and offline', async () => {
    const { machine } = await activated({
      features: ['export', 'sync'],
      metadata: { plan: 'pro', note: 'internal' },
      signedMetadata: ['plan'],
    });
    const client = await machine.open(OFFLINE);
    const verdict = client.current();
    expect(verdict.features).to.deep.equal(['export', 'sync']);
    expect(verdict.license?.metadata, 'as far as it is signed').to.deep.equal({ plan: 'pro' });
    expect(verdict.license?.termsVersion).to.equal(1);
    for (const has of [client.has, verdict.license?.has]) {
      expect(has?.('export')).to.equal(true);
      expect(has?.('print')).to.equal(false);
      expect(has?.('length')).to.equal(false);
    }
    expect([verdict.features, verdict.license?.metadata].every(Object.isFrozen)).to.equal(true);
    expect(structuredClone(verdict).features).to.deep.equal(['export', 'sync']);
  });

  it('name no features without a valid license', async () => {
    const { issued, machine, client } = await activated({ features: ['export'] });
    expect((await (await machineFor(issued)).open()).has('export')).to.equal(false);
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
    await client.recheck({ force: true });
    expect(client.has('export')).to.equal(false);
    expect(client.current().features).to.deep.equal([]);
    expect(machine.requests).to.have.length(2); // the second is for the Free limits
  });

  it('may name neither features nor metadata', async () => {
    const { client } = await activated();
    expect(client.has('export')).to.equal(false);
    expect(client.current().license?.has('export')).to.equal(false);
    expect(client.current()).to.deep.include({ features: [], inGraceUntil: undefined });
  });

  describe('with a grace', () => {
    it('keep the license valid after its expiry, until the grace ends', async () => {
      const { machine, client } = await activated({ ...until(10), graceDays: 5 });
      expect(client.current()).to.deep.include({ validUntil: inDays(15), inGraceUntil: undefined });
      time.advance(10 * DAY);
      const offline = await machine.open(OFFLINE);
      expect(offline.current()).to.deep.include({
        licensed: true,
        validUntil: inDays(5),
        inGraceUntil: inDays(5),
      });
      expect(await client.recheck({ force: true })).to.deep.include({
        licensed: true,
        inGraceUntil: inDays(5),
        problem: undefined,
      });
      time.advance(5 * DAY - 1);
      expect(offline.current().licensed).to.equal(true);
      time.advance(1);
      expect(offline.current()).to.include({ licensed: false, reason: 'license_expired' });
      expect(offline.current().license?.graceEndsAt).to.equal(time.date().toISOString());
      expect(await client.recheck()).to.include({ licensed: false, reason: 'license_expired' });
    });

    it('publish a verdict and check when the grace begins, which learns of a renewal', async () => {
      const { issued, machine, client } = await activated(
        { ...until(0.5), graceDays: 5 },
        { softCheckIntervalMs: 7 * DAY },
      );
      const inGrace: boolean[] = [];
      client.subscribe((verdict) => inGrace.push(verdict.licensed && verdict.inGraceUntil !== undefined));
      time.advance(0.5 * DAY);
      await client.recheck();
      expect(machine.requests).to.deep.equal([`GET /v1/status/${issued.licenseId}`]);
      await change(issued, until(365));
      expect(await client.recheck({ force: true })).to.deep.include({ inGraceUntil: undefined });
      expect(inGrace).to.deep.equal([true, false]);
    });

    it('do not prolong a lease', async () => {
      const { machine } = await activated({ leaseDays: 3, ...until(2), graceDays: 30 });
      time.advance(3 * DAY);
      expect((await machine.open(OFFLINE)).current()).to.include({ licensed: false, reason: 'lease_over' });
    });
  });

  describe('that change', () => {
    it('are fetched by the next soft check, without a question', async () => {
      const { issued, machine, client } = await activated();
      await change(issued, { features: ['export'], graceDays: 5, metadata: { plan: 'pro' } });
      time.advance(DAY);
      await client.recheck();
      expect(client.has('export')).to.equal(true);
      expect(machine.requests).to.deep.equal([`GET /v1/status/${issued.licenseId}`, ACTIVATION]);
      time.advance(DAY);
      await client.recheck();
      expect(
        machine.requests.filter((request) => request === ACTIVATION),
        'once',
      ).to.have.length(1);
    });

    it('are not fetched without the stored key', async () => {
      const { issued, machine, client } = await activated({}, { keepLicenseKey: false });
      await change(issued, { features: ['export'] });
      expect(await client.recheck({ force: true })).to.deep.include({ licensed: true, features: [] });
      expect(machine.requests).to.not.include(ACTIVATION);
    });

    it('leave the old copy if they cannot be fetched, and are fetched soon after', async () => {
      const { issued, machine } = await activated({ features: ['export'] });
      await change(issued, { features: ['export', 'sync'] });
      const broken: typeof fetch = (input, init) =>
        init?.method === 'POST' ? Promise.reject(new TypeError('cut off')) : fetch(input, init);
      const cut = await machine.open({ fetch: broken });
      const verdict = await cut.recheck({ force: true });
      expect(verdict).to.deep.include({ licensed: true, features: ['export'] });
      expect(verdict.problem?.code).to.equal('network');
      time.advance(MINUTE);
      expect((await (await machine.open()).recheck()).features).to.deep.equal(['export', 'sync']);
    });

    it('are fetched soon after an aborted fetch', async () => {
      const { issued, machine } = await activated();
      await change(issued, { features: ['export'] });
      await interruptFetch(machine, 'aborted');
      time.advance(MINUTE);
      expect((await (await machine.open()).recheck()).features).to.deep.equal(['export']);
    });

    it('are fetched soon after the process ended during a fetch', async () => {
      const { issued, machine } = await activated();
      await change(issued, { features: ['export'] });
      await interruptFetch(machine, 'killed');
      time.advance(MINUTE);
      expect((await (await machine.open()).recheck()).features).to.deep.equal(['export']);
    });

    it('are not requested again after the license has ended', async () => {
      const { issued, machine } = await activated();
      await change(issued, { features: ['export'] });
      await interruptFetch(machine, 'aborted');
      await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
      expect((await (await machine.open()).recheck()).licensed).to.equal(false);
      machine.requests.length = 0;
      await (await machine.open()).recheck();
      expect(machine.requests).to.not.include(`GET /v1/status/${issued.licenseId}`);
    });

    it('leave the old copy if the license has a new key, and the old key is not tried again soon', async () => {
      const { issued, machine, client } = await activated({ features: ['export'] });
      await change(issued, { features: ['sync'] });
      await hub.admin.rekeyLicense({ licenseId: issued.licenseId });
      const verdict = await client.recheck({ force: true });
      expect(verdict).to.deep.include({ licensed: true, features: ['export'] });
      expect(verdict.problem).to.include({ code: 'license_key_unknown', isRetryable: false });
      time.advance(DAY - 1);
      await client.recheck();
      expect(machine.requests).to.have.length(2);
    });

    it('of an older hub have no version', async () => {
      const { issued, machine } = await activated();
      const older: typeof fetch = async (input, init) => {
        const answer = await fetch(input, init);
        return new Response((await answer.text()).replace(/"termsVersion":\d+,/, ''));
      };
      const client = await machine.open({ fetch: older });
      await change(issued, { features: ['export'] });
      expect(await client.recheck({ force: true })).to.include({ licensed: true, problem: undefined });
      expect(machine.requests, 'it asks with its own fetch').to.deep.equal([]);
    });
  });

  it('of a reinstated license are fetched soon after an aborted fetch', async () => {
    const { issued, machine, client } = await activated();
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'mistake' });
    expect((await client.recheck({ force: true })).licensed).to.equal(false);
    await hub.admin.reinstateLicense({ licenseId: issued.licenseId });
    await interruptFetch(machine, 'aborted');
    time.advance(MINUTE);
    expect((await (await machine.open()).recheck()).licensed).to.equal(true);
  });

  describe('of a suspended license', () => {
    it('are not in force, are kept, and are in force again when it is resumed', async () => {
      const { issued, machine, client } = await activated({ features: ['export'] });
      await suspend(issued);
      const verdict = await client.recheck({ force: true });
      expect(verdict).to.deep.include({ licensed: false, reason: 'license_suspended', limits: FREE });
      expect(verdict.license?.licenseId).to.equal(issued.licenseId);
      expect(client.has('export')).to.equal(false);
      const record = await readRecord((await machine.store.load()) ?? '');
      expect(record).to.include({ licenseKey: issued.licenseKey, isSuspended: true });

      const offline = await machine.open(OFFLINE);
      expect(await offline.recheck({ force: true })).to.include({ reason: 'license_suspended' });

      await resume(issued);
      machine.requests.length = 0;
      time.advance(HOUR - 1);
      expect((await client.recheck()).licensed, 'asks every hour').to.equal(false);
      time.advance(1);
      expect(await client.recheck()).to.include({ licensed: true, problem: undefined });
      expect(client.has('export')).to.equal(true);
      expect(machine.requests, 'the copy is the old one').to.deep.equal([
        `GET /v1/status/${issued.licenseId}`,
      ]);
    });

    it('are in force again without a stored key', async () => {
      const { issued, client } = await activated({}, { keepLicenseKey: false });
      await suspend(issued);
      expect((await client.recheck({ force: true })).licensed).to.equal(false);
      await resume(issued);
      expect((await client.recheck({ force: true })).licensed).to.equal(true);
    });

    it('that changed meanwhile are fetched when it is resumed', async () => {
      const { issued, client } = await activated();
      await suspend(issued);
      await client.recheck({ force: true });
      await change(issued, { features: ['export'] });
      await resume(issued);
      await client.recheck({ force: true });
      expect(client.has('export')).to.equal(true);
    });

    it('are in force again after its lease has ended meanwhile', async () => {
      const { issued, client } = await activated({ leaseDays: 2 });
      await suspend(issued);
      await client.recheck({ force: true });
      time.advance(3 * DAY);
      expect(await client.recheck()).to.include({ reason: 'license_suspended' });
      await resume(issued);
      expect((await client.recheck({ force: true })).licensed).to.equal(true);
    });

    it('are refused to its own key too, and the seat can be released', async () => {
      const { issued, client } = await activated();
      await suspend(issued);
      expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('license_suspended');
      expect(client.current()).to.include({ licensed: false, reason: 'license_suspended' });
      expect(await client.deactivate()).to.include({ licensed: false, reason: 'no_license' });
      expect((await hub.admin.listSeats({ licenseId: issued.licenseId })).seats).to.have.length(0);
    });

    it('end if it is revoked', async () => {
      const { issued, machine, client } = await activated();
      await suspend(issued);
      await client.recheck({ force: true });
      await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
      const verdict = await client.recheck({ force: true });
      expect(verdict).to.deep.include({ licensed: false, reason: 'license_revoked', license: undefined });
      const record = await readRecord((await machine.store.load()) ?? '');
      expect(record).to.not.have.any.keys('license', 'isSuspended');
    });

    it('that had ended before are fetched when it is resumed', async () => {
      const { issued, client } = await activated();
      await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'mistake' });
      await client.recheck({ force: true });
      await hub.admin.reinstateLicense({ licenseId: issued.licenseId });
      await suspend(issued);
      expect(await client.recheck({ force: true })).to.include({ reason: 'license_suspended' });
      await resume(issued);
      expect((await client.recheck({ force: true })).licensed).to.equal(true);
    });

    it('are in force for a record that was restored, until the next soft check', async () => {
      const { issued, machine, client } = await activated();
      const before = await machine.store.load();
      await suspend(issued);
      await client.recheck({ force: true });
      const restored = await machine.open({ store: createMemoryStore(before) });
      expect(restored.current().licensed).to.equal(true);
      expect(await restored.recheck({ force: true })).to.include({ reason: 'license_suspended' });
    });
  });
});
