// Activation and release, against a real hub.
import { expect } from 'chai';
import type { LicenseClientOptions } from '../../client/client.ts';
import type { LicenseErrorCode } from '../../client/errors.ts';
import { readRecord, writeRecord } from '../../client/state/record.ts';
import { createMemoryStore } from '../../client/state/store.ts';
import { parseId } from '../../core/ids.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { activate } from '../support/network/rest.ts';
import { query } from '../support/postgres/databases.ts';
import { failureOf } from './failure-of.ts';
import { startImpostor } from './impostor.ts';
import { createMachine, FREE, kidOf, type Machine, publicKeyOf } from './machine.ts';
import { createVirtualTime, DAY } from './virtual-time.ts';

describe('a license client', () => {
  let hub: TestHub;
  let time = createVirtualTime();
  before(async () => {
    hub = await startHub({ clock: () => time.date() });
  });
  after(() => hub.stop());
  beforeEach(() => {
    time = createVirtualTime();
  });

  const machineFor = async (
    { app }: TestLicense,
    options: Partial<LicenseClientOptions> = {},
  ): Promise<Machine> => {
    const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, app)] };
    return createMachine({ time, hubUrl: hub.gatewayUrl, app, trust, ...options });
  };
  const twoLicenses = async (request: Parameters<typeof issueLicense>[1] = {}) => {
    const issued = await issueLicense(hub.admin);
    return { issued, other: await issueLicense(hub.admin, { app: issued.app, ...request }) };
  };
  const seatsOf = async ({ licenseId }: TestLicense): Promise<number> =>
    (await hub.admin.listSeats({ licenseId })).seats.length;
  /** Deletes the seats of a license, as a hub on an old backup may not have them. */
  const loseSeats = ({ licenseId }: TestLicense) =>
    query(hub.databaseUrl, 'delete from seat where license_id = $1', [parseId('lic', licenseId)]);

  it('without a license is Free, with the built-in limits', async () => {
    const client = await (await machineFor(await issueLicense(hub.admin))).open();
    expect(client.current()).to.deep.equal({
      licensed: false,
      reason: 'no_license',
      limits: FREE,
      features: [],
      license: undefined,
      problem: undefined,
    });
  });

  it('activates, and stays licensed without the hub and after a restart', async () => {
    const issued = await issueLicense(hub.admin, {
      customer: 'Zoë & Söhne',
      limits: { projects: -1n, exports: 9007199254740991n },
      leaseDays: 14,
    });
    const machine = await machineFor(issued, { machineLabel: 'Desk\u0007 7', appVersion: '2.1.0' });
    const { previousSeat, ...verdict } = await (await machine.open()).activate(
      ` ${issued.licenseKey.toLowerCase()} `,
    );
    expect(previousSeat).to.equal('none');
    expect(verdict).to.deep.include({
      licensed: true,
      limits: { projects: -1, exports: 9007199254740991 },
      validUntil: new Date('2026-05-15T12:00:00.000Z'),
      problem: undefined,
    });
    expect(verdict.license).to.include({ licenseId: issued.licenseId, customer: 'Zoë & Söhne' });
    const { seats } = await hub.admin.listSeats({ licenseId: issued.licenseId });
    expect(seats[0]).to.include({ machineLabel: 'Desk 7', appVersion: '2.1.0' });

    const asked = machine.requests.length;
    const again = await machine.open({ hubUrl: 'http://127.0.0.1:1' });
    expect(again.current()).to.deep.equal(verdict);
    expect(machine.requests).to.have.length(asked);
  });

  it('reports why it cannot activate, and keeps its state', async () => {
    const good = await issueLicense(hub.admin);
    const machine = await machineFor(good);
    const client = await machine.open();
    await client.activate(good.licenseKey);
    const before = client.current();

    const full = await issueLicense(hub.admin, { app: good.app, seatLimit: 1 });
    await activate(hub.gatewayUrl, full.licenseKey, 'another-machine');
    const seatless = await failureOf(client.activate(full.licenseKey));
    expect(seatless).to.deep.include({ code: 'seat_limit_reached', status: 409, isRetryable: false });
    expect(seatless).to.deep.include({ seats: { limit: 1, used: 1 } });
    expect(seatless.requestId).to.match(/^[0-9a-f-]{36}$/);

    const revoked = await issueLicense(hub.admin, { app: good.app });
    await hub.admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'refund' });
    const past = { seconds: BigInt(time.date().getTime() / 1000 + 60), nanos: 0 };
    const expired = await issueLicense(hub.admin, { app: good.app, expiresAt: past });
    time.advance(DAY);
    const elsewhere = await issueLicense(hub.admin);
    const refusals: [key: string, code: LicenseErrorCode][] = [
      ['00000-00000-00000-00000-00000', 'license_key_unknown'],
      ['', 'invalid_request'],
      [revoked.licenseKey, 'license_revoked'],
      [expired.licenseKey, 'license_expired'],
      [elsewhere.licenseKey, 'untrusted_key'],
    ];
    for (const [key, code] of refusals)
      expect((await failureOf(client.activate(key))).code, key).to.equal(code);
    expect(client.current()).to.deep.equal(before);
    expect((await machine.open()).current()).to.deep.equal(before);
  });

  it('never includes license key or fingerprint in errors', async () => {
    const issued = await issueLicense(hub.admin, { seatLimit: 1 });
    await activate(hub.gatewayUrl, issued.licenseKey, 'another-machine');
    const client = await (await machineFor(issued, { machineFingerprint: 'machine-secret' })).open();
    const failure = await failureOf(client.activate(issued.licenseKey));
    const shown = `${failure.stack} ${JSON.stringify(failure)}`;
    expect(shown).to.not.include(issued.licenseKey).and.not.include('machine-secret');
  });

  it('refuses a license signed with another key, even if the response includes that key', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    const client = await machine.open();
    await hub.admin.rotateSigningKey({ app: issued.app });
    expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('untrusted_key');
    expect(client.current()).to.include({ licensed: false, reason: 'no_license' });
    expect(await machine.store.load()).to.equal(undefined);

    const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, issued.app)] };
    const updated = await machine.open({ trust });
    expect((await updated.activate(issued.licenseKey)).licensed).to.equal(true);
  });

  it('refuses a license of another app signed with the same key', async () => {
    const issued = await issueLicense(hub.admin);
    const client = await (await machineFor(issued, { app: 'another-app' })).open();
    expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('wrong_app');
  });

  it('refuses a license whose key is not the one that signed it', async () => {
    const issued = await issueLicense(hub.admin);
    const { license } = (await activate(hub.gatewayUrl, issued.licenseKey, 'machine-1')).body;
    const other = await publicKeyOf(hub.gatewayUrl, (await issueLicense(hub.admin)).app);
    for (const publicKeyPem of [other, 'no key', '']) {
      const body = JSON.stringify({ ok: true, license, publicKeyPem });
      await using odd = await startImpostor((_, res) => res.writeHead(200).end(body));
      const client = await (await machineFor(issued, odd)).open();
      expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('untrusted_key');
    }
  });

  it('refuses a license whose signature is far too long', async () => {
    const issued = await issueLicense(hub.admin);
    const { license, publicKeyPem } = (await activate(hub.gatewayUrl, issued.licenseKey, 'machine-1')).body;
    const forged = { ...license, signature: 'A'.repeat(200_000) };
    const body = JSON.stringify({ ok: true, license: forged, publicKeyPem });
    await using odd = await startImpostor((_, res) => res.writeHead(200).end(body));
    const client = await (await machineFor(issued, odd)).open();
    expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('bad_signature');
  });

  it('retries in the background as long as its activation has not been aborted', async () => {
    const issued = await issueLicense(hub.admin);
    const limited = await startHub({
      beside: hub,
      settings: { licenseRatePerMinute: 1 },
      clock: () => time.date(),
    });
    try {
      const machine = await machineFor(issued, { hubUrl: limited.gatewayUrl });
      const client = await machine.open();
      await client.activate(issued.licenseKey);
      const refused = await failureOf(client.activate(issued.licenseKey));
      expect(refused).to.include({ code: 'rate_limited', status: 429, isRetryable: true });
      expect(refused.retryAfterSeconds).to.be.within(1, 60);
      expect(client.current().licensed).to.equal(true);
      const asked = machine.requests.length;
      await client.recheck({ force: true });
      expect(machine.requests).to.have.length(asked);
    } finally {
      await limited.stop();
    }
  });

  it('can pin several keys, also by thumbprint', async () => {
    const issued = await issueLicense(hub.admin);
    const first = await publicKeyOf(hub.gatewayUrl, issued.app);
    await hub.admin.rotateSigningKey({ app: issued.app });
    const kid = await kidOf(hub.gatewayUrl, issued.app);
    const trust = { publicKeyPems: [first], thumbprints: [kid] };
    const machine = createMachine({ time, hubUrl: hub.gatewayUrl, app: issued.app, trust });
    await (await machine.open()).activate(issued.licenseKey);
    const offline = await machine.open({ hubUrl: 'http://127.0.0.1:1' });
    expect(offline.current().license?.kid).to.equal(kid);
  });

  it('fetches a key pinned by its thumbprint, and accepts no other', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    await (await machine.open()).activate(issued.licenseKey);
    const kid = await kidOf(hub.gatewayUrl, issued.app);
    const { key: _, ...rest } = await readRecord((await machine.store.load()) ?? '');
    const record = await writeRecord(rest);
    const pinned = await createMachine({
      time,
      hubUrl: hub.gatewayUrl,
      app: issued.app,
      trust: { thumbprints: [kid] },
      store: createMemoryStore(record),
    }).open();
    expect(pinned.current()).to.include({ licensed: false, reason: 'key_missing' });
    expect((await pinned.recheck()).licensed).to.equal(true);

    const other = await issueLicense(hub.admin);
    const impostorKeys = await fetch(`${hub.gatewayUrl}/v1/apps/${other.app}/jwks.json`);
    const body = await impostorKeys.text();
    await using fake = await startImpostor((_, res) => res.writeHead(200).end(body));
    const cheated = await createMachine({
      time,
      ...fake,
      app: issued.app,
      trust: { thumbprints: [kid] },
      store: createMemoryStore(record),
    }).open();
    const verdict = await cheated.recheck({ force: true });
    expect(verdict).to.deep.include({ licensed: false, reason: 'key_missing' });
    expect(verdict.problem?.code).to.equal('key_missing');
  });

  it('releases its seat for another machine', async () => {
    const issued = await issueLicense(hub.admin, { seatLimit: 1 });
    const machine = await machineFor(issued);
    const client = await machine.open();
    await client.activate(issued.licenseKey);
    expect(await client.deactivate()).to.include({ licensed: false, reason: 'no_license' });
    expect(await machine.store.load()).to.equal(undefined);
    const other = await (await machineFor(issued, { machineFingerprint: 'machine-2' })).open();
    expect((await other.activate(issued.licenseKey)).licensed).to.equal(true);
    expect((await failureOf(client.deactivate())).code).to.equal('license_key_missing');
  });

  it('stays licensed if its seat cannot be released', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    await (await machine.open()).activate(issued.licenseKey);
    const offline = await machine.open({ hubUrl: 'http://127.0.0.1:1' });
    const failure = await failureOf(offline.deactivate());
    expect([failure.code, failure.isRetryable]).to.deep.equal(['network', true]);
    expect(offline.current().licensed).to.equal(true);
  });

  it('stores no license key if keepLicenseKey is false, and then requires it to release the seat', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued, { keepLicenseKey: false });
    const client = await machine.open();
    await client.activate(issued.licenseKey);
    expect(await machine.store.load()).to.not.include(issued.licenseKey);
    expect((await failureOf(client.deactivate())).code).to.equal('license_key_missing');
    expect((await client.deactivate({ licenseKey: issued.licenseKey })).licensed).to.equal(false);
  });

  for (const keepLicenseKey of [true, false]) {
    it(`keeps its license when the seat of another one is released, with its key ${keepLicenseKey ? '' : 'not '}stored`, async () => {
      const { issued, other } = await twoLicenses();
      const client = await (await machineFor(issued, { keepLicenseKey })).open();
      await client.activate(other.licenseKey);
      await client.activate(issued.licenseKey);
      expect((await client.deactivate({ licenseKey: other.licenseKey })).licensed).to.equal(true);
      expect(await seatsOf(other)).to.equal(0);
      const typed = issued.licenseKey.toLowerCase().replaceAll('-', ' ');
      expect((await client.deactivate({ licenseKey: typed })).licensed).to.equal(false);
      expect(await seatsOf(issued)).to.equal(0);
    });
  }

  it('ends its license when its seat is released with the new key of the license', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    const client = await machine.open();
    await client.activate(issued.licenseKey);
    const { licenseKey } = await hub.admin.rekeyLicense({ licenseId: issued.licenseId });
    const released = { licensed: false, reason: 'seat_not_active', problem: undefined };
    expect(await client.deactivate({ licenseKey })).to.include(released);
    expect(await seatsOf(issued)).to.equal(0);
    expect((await machine.open()).current()).to.include(released);
  });

  it('keeps its license when the seat of another one is released and the hub has lost its own', async () => {
    const { issued, other } = await twoLicenses();
    const machine = await machineFor(issued, { keepLicenseKey: false });
    const client = await machine.open();
    await client.activate(other.licenseKey);
    await client.activate(issued.licenseKey);
    await loseSeats(issued);
    const verdict = await client.deactivate({ licenseKey: other.licenseKey });
    expect(verdict.licensed).to.equal(true);
    expect(verdict.problem?.code).to.equal('seat_not_active');
    expect(await seatsOf(other)).to.equal(0);
    expect((await machine.open()).current().licensed).to.equal(true);
  });

  it('keeps a license that another process stores while the seat of the old one is released', async () => {
    const { issued, other } = await twoLicenses();
    const machine = await machineFor(issued, { keepLicenseKey: false });
    await (await machine.open()).activate(issued.licenseKey);
    const { licenseKey } = await hub.admin.rekeyLicense({ licenseId: issued.licenseId });
    const meanwhile: typeof fetch = async (input, init) => {
      if (String(input).endsWith('/v1/deactivate')) {
        await (await machine.open()).activate(other.licenseKey);
        await loseSeats(other);
      }
      return fetch(input, init);
    };
    const verdict = await (await machine.open({ fetch: meanwhile })).deactivate({ licenseKey });
    expect(verdict.license?.licenseId).to.equal(other.licenseId);
    expect(verdict.licensed).to.equal(true);
    expect(verdict.problem?.code).to.equal('seat_not_active');
    expect(await seatsOf(issued)).to.equal(0);
  });

  it('releases no seat if it is aborted while it asks about its own', async () => {
    const { issued, other } = await twoLicenses();
    const machine = await machineFor(issued, { keepLicenseKey: false });
    const client = await machine.open();
    await client.activate(other.licenseKey);
    await client.activate(issued.licenseKey);
    const caller = new AbortController();
    const sent: (string | undefined)[] = [];
    const deaf: typeof fetch = (_, init) => {
      sent.push(init?.method);
      caller.abort();
      return new Promise(() => {});
    };
    const again = await machine.open({ fetch: deaf });
    const { signal } = caller;
    const failure = await failureOf(again.deactivate({ licenseKey: other.licenseKey, signal }));
    expect(failure.code).to.equal('aborted');
    expect(sent, 'only the status').to.deep.equal([undefined]);
  });

  it('releases the seat of another license if the hub cannot be asked about its own', async () => {
    const { issued, other } = await twoLicenses();
    const broken: typeof fetch = (input, init) =>
      init?.method === 'POST' ? fetch(input, init) : Promise.reject(new TypeError('cut off'));
    const client = await (await machineFor(issued, { fetch: broken, keepLicenseKey: false })).open();
    await client.activate(other.licenseKey);
    await client.activate(issued.licenseKey);
    const verdict = await client.deactivate({ licenseKey: other.licenseKey });
    expect(verdict.licensed).to.equal(true);
    expect(verdict.problem?.code).to.equal('network');
    expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([1, 0]);
  });

  it('drops an unreadable record when a seat is released', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    await (await machine.open()).activate(issued.licenseKey);
    await machine.store.save('damaged');
    const verdict = await (await machine.open()).deactivate({ licenseKey: issued.licenseKey });
    expect(verdict).to.include({ reason: 'no_license' });
  });

  it('refuses a malformed license key without a request', async () => {
    const machine = await machineFor(await issueLicense(hub.admin));
    const client = await machine.open();
    const nothing = JSON.parse('null'); // as JavaScript may hand it over
    expect((await failureOf(client.activate(nothing))).code).to.equal('invalid_request');
    expect((await failureOf(client.deactivate({ licenseKey: nothing }))).code).to.equal('invalid_request');
    expect(machine.requests).to.deep.equal([]);
  });

  describe('activated with another license key', () => {
    it('releases its old seat after the new license is stored', async () => {
      const { issued, other } = await twoLicenses();
      const machine = await machineFor(issued);
      const client = await machine.open();
      await client.activate(issued.licenseKey);
      const held = await machine.store.load();
      const stored: boolean[] = [];
      const noted: typeof fetch = async (input, init) => {
        if (String(input).endsWith('/v1/deactivate')) stored.push((await machine.store.load()) !== held);
        return fetch(input, init);
      };
      const again = await machine.open({ fetch: noted });
      expect(await again.activate(other.licenseKey)).to.include({ licensed: true, previousSeat: 'released' });
      expect(stored).to.deep.equal([true]);
      expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([0, 1]);
      expect(await again.activate(other.licenseKey)).to.include({ previousSeat: 'none' });
    });

    it('keeps its seat if the new license is refused', async () => {
      const { issued, other } = await twoLicenses({ seatLimit: 1 });
      const elsewhere = await machineFor(other, { machineFingerprint: 'machine-2' });
      await (await elsewhere.open()).activate(other.licenseKey);
      const client = await (await machineFor(issued)).open();
      await client.activate(issued.licenseKey);
      expect((await failureOf(client.activate(other.licenseKey))).code).to.equal('seat_limit_reached');
      expect(client.current().license?.licenseId).to.equal(issued.licenseId);
      expect(await seatsOf(issued)).to.equal(1);
    });

    /** A machine that cannot release seats while `breaks.release` is set. */
    const breakable = async (issued: TestLicense, options: Partial<LicenseClientOptions> = {}) => {
      const breaks = { release: true };
      const cut: typeof fetch = (input, init) =>
        breaks.release && String(input).endsWith('/v1/deactivate')
          ? Promise.reject(new TypeError('no network'))
          : fetch(input, init);
      return { breaks, machine: await machineFor(issued, { fetch: cut, ...options }) };
    };

    it('releases the old seat later if it failed, also after a restart', async () => {
      const { issued, other } = await twoLicenses();
      const { breaks, machine } = await breakable(issued);
      await (await machine.open()).activate(issued.licenseKey);
      const activated = await (await machine.open()).activate(other.licenseKey);
      expect(activated).to.include({ licensed: true, previousSeat: 'pending' });
      expect(activated.problem?.code).to.equal('network');
      expect((await (await machine.open()).recheck()).problem?.code).to.equal('network');
      expect(await seatsOf(issued)).to.equal(1);

      breaks.release = false;
      const client = await machine.open();
      expect(await client.recheck()).to.include({ licensed: true, problem: undefined });
      expect(await seatsOf(issued)).to.equal(0);
      expect(await machine.store.load()).to.not.include(issued.licenseKey);
    });

    it('keeps the old seat if it is activated again meanwhile', async () => {
      const { issued, other } = await twoLicenses();
      const { breaks, machine } = await breakable(issued);
      const client = await machine.open();
      await client.activate(issued.licenseKey);
      await client.activate(other.licenseKey);
      breaks.release = false;
      expect(await client.activate(issued.licenseKey)).to.include({ previousSeat: 'released' });
      expect((await client.recheck({ force: true })).licensed).to.equal(true);
      expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([1, 0]);
    });

    it('releases both seats when it is released, or none', async () => {
      const { issued, other } = await twoLicenses();
      const { breaks, machine } = await breakable(issued);
      const client = await machine.open();
      await client.activate(issued.licenseKey);
      await client.activate(other.licenseKey);
      expect((await failureOf(client.deactivate())).code).to.equal('network');
      expect(client.current().licensed).to.equal(true);
      breaks.release = false;
      expect((await client.deactivate()).licensed).to.equal(false);
      expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([0, 0]);
    });

    /** A client with a new license that it could not save, because the disk became full. */
    const unsaved = async () => {
      const { issued, other } = await twoLicenses();
      const memory = createMemoryStore();
      const disk = { isFull: false };
      const save = async (text: string) => {
        if (disk.isFull) throw new Error('the disk is full');
        await memory.save(text);
      };
      const machine = await machineFor(issued, { store: { ...memory, save } });
      const client = await machine.open();
      await client.activate(issued.licenseKey);
      disk.isFull = true;
      expect((await failureOf(client.activate(other.licenseKey))).code).to.equal('store_failed');
      return { issued, other, disk, machine, client };
    };

    it('keeps the old seat until the new license is stored', async () => {
      const { issued, other, disk, client } = await unsaved();
      expect(await seatsOf(issued), 'the one that a restart finds').to.equal(1);
      disk.isFull = false;
      time.advance(DAY);
      await client.recheck();
      expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([0, 1]);
    });

    it('releases both seats when it is released before the new license is stored', async () => {
      const { issued, other, machine, client } = await unsaved();
      expect(await client.deactivate()).to.include({ licensed: false, reason: 'no_license' });
      expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([0, 0]);
      expect(await machine.store.load()).to.equal(undefined);
    });

    it('reports an abandoned old seat if its key was not stored', async () => {
      const { issued, other } = await twoLicenses();
      const client = await (await machineFor(issued, { keepLicenseKey: false })).open();
      await client.activate(issued.licenseKey);
      expect(await client.activate(other.licenseKey)).to.include({ previousSeat: 'left' });
      expect(await seatsOf(issued)).to.equal(1);
    });

    it('reports an abandoned old seat if its license has a new key, and can release it', async () => {
      const { issued, other } = await twoLicenses();
      const machine = await machineFor(issued);
      const client = await machine.open();
      await client.activate(issued.licenseKey);
      const { licenseKey } = await hub.admin.rekeyLicense({ licenseId: issued.licenseId });
      expect(await client.activate(other.licenseKey)).to.include({ licensed: true, previousSeat: 'left' });
      expect(await seatsOf(issued)).to.equal(1);
      expect(await machine.store.load(), 'which cannot release it').to.not.include(issued.licenseKey);
      expect((await client.deactivate({ licenseKey })).licensed).to.equal(true);
      expect([await seatsOf(issued), await seatsOf(other)]).to.deep.equal([0, 1]);
    });

    it('does not wait for a seat that the hub no longer knows', async () => {
      const { issued, other } = await twoLicenses();
      const client = await (await machineFor(issued)).open();
      await client.activate(issued.licenseKey);
      await loseSeats(issued);
      expect(await client.activate(other.licenseKey)).to.include({ previousSeat: 'released' });
    });
  });

  it('that activates and releases concurrently ends without a seat', async () => {
    const issued = await issueLicense(hub.admin);
    const client = await (await machineFor(issued)).open();
    await client.activate(issued.licenseKey);
    const [, , verdict] = await Promise.all([
      client.activate(issued.licenseKey),
      client.recheck({ force: true }),
      client.deactivate(),
    ]);
    expect(verdict.licensed).to.equal(false);
    expect((await hub.admin.listSeats({ licenseId: issued.licenseId })).seats).to.have.length(0);
  });

  describe('that cannot reach the hub', () => {
    let issued: TestLicense;
    before(async () => {
      issued = await issueLicense(hub.admin);
    });

    const attempt = async (options: Partial<LicenseClientOptions>, signal?: AbortSignal) => {
      const client = await (await machineFor(issued, options)).open();
      return failureOf(client.activate(issued.licenseKey, { signal }));
    };

    it('reports it', async () => {
      expect(await attempt({ hubUrl: 'http://127.0.0.1:1' })).to.include({
        code: 'network',
        isRetryable: true,
      });
    });

    it('times out', async () => {
      await using silent = await startImpostor(() => time.advance(10_000));
      expect(await attempt(silent)).to.include({ code: 'timeout', isRetryable: true });
    });

    it("times out even if the application's fetch ignores its signal", async () => {
      const deaf: typeof fetch = () => {
        setImmediate(() => time.advance(10_000));
        return new Promise(() => {});
      };
      expect(await attempt({ fetch: deaf })).to.include({ code: 'timeout', isRetryable: true });
    });

    it('times out on an endless response', async () => {
      await using slow = await startImpostor((_, res) => {
        res.writeHead(200).write('{');
        setImmediate(() => time.advance(10_000));
      });
      expect((await attempt(slow)).code).to.equal('timeout');
    });

    it('stops when aborted', async () => {
      const caller = new AbortController();
      await using silent = await startImpostor(() => caller.abort());
      expect(await attempt(silent, caller.signal)).to.include({ code: 'aborted', isRetryable: false });
      expect((await attempt({}, AbortSignal.abort())).code).to.equal('aborted');
    });

    it('does not wait for its turn when aborted', async () => {
      await using silent = await startImpostor(() => caller.abort());
      const caller = new AbortController();
      const machine = await machineFor(issued, silent);
      const client = await machine.open();
      const first = failureOf(client.activate(issued.licenseKey));
      expect((await failureOf(client.activate(issued.licenseKey, caller))).code).to.equal('aborted');
      expect(machine.requests).to.have.length(1);
      time.advance(10_000);
      expect((await first).code).to.equal('timeout');
    });

    it('follows no redirect with a license key', async () => {
      let redirected = 0;
      await using elsewhere = await startImpostor((_, res) => {
        redirected += 1;
        res.end('{}');
      });
      await using portal = await startImpostor((_, res) => {
        res.writeHead(307, { location: `${elsewhere.hubUrl}/v1/activate` }).end();
      });
      expect((await attempt(portal)).code).to.equal('network');
      expect(redirected).to.equal(0);
    });

    const oddAnswers: [what: string, status: number, type: string, body: string | Buffer][] = [
      ['the login page of a hotel', 200, 'text/html', '<html>Welcome'],
      ['a proxy that refuses', 403, 'text/html', 'Forbidden'],
      ['a problem that is none', 410, 'application/json', '{"code":"license_revoked","status":410}'],
      [
        'a problem of another status',
        403,
        'application/problem+json',
        '{"code":"license_revoked","status":410}',
      ],
      ['a problem nobody knows', 418, 'application/problem+json', '{"code":"teapot","status":418}'],
      [
        'a member given twice',
        200,
        'application/json',
        '{"ok":false,"ok":true,"license":{},"publicKeyPem":""}',
      ],
      ['an activation without a key', 200, 'application/json', '{"ok":true,"license":{}}'],
      ['an array', 200, 'application/json', '[]'],
      ['nothing', 200, 'application/json', ''],
      ['bytes that are no text', 200, 'application/json', Buffer.from([0x7b, 0xff, 0x7d])],
      ['too much', 200, 'application/json', `{"ok":true,"a":"${'a'.repeat(300_000)}"}`],
    ];
    for (const [what, status, type, body] of oddAnswers) {
      it(`refuses ${what} as a response of a hub`, async () => {
        await using odd = await startImpostor((_, res) =>
          res.writeHead(status, { 'content-type': type }).end(body),
        );
        expect(await attempt(odd)).to.include({ code: 'unexpected_answer', isRetryable: true });
      });
    }
  });

  it('reports wrong options immediately', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    const no = JSON.parse('null'); // what types do not let through comes from JavaScript
    const wrong: [Partial<LicenseClientOptions>, RegExp][] = [
      [{ hubUrl: no }, /^hubUrl: give the address/],
      [{ hubUrl: 'licenses.example.com' }, /^hubUrl: give the address/],
      [{ hubUrl: 'http://licenses.example.com' }, /^hubUrl: use https/],
      [{ hubUrl: 'https://me@licenses.example.com' }, /^hubUrl: omit/],
      [{ app: 'Photo Lab' }, /^app: give the slug/],
      [{ app: no }, /^app: /],
      [{ machineFingerprint: '' }, /^machineFingerprint: give 1 to 256/],
      [{ machineFingerprint: no }, /^machineFingerprint: /],
      [{ machineFingerprint: 'a\nb' }, /^machineFingerprint: /],
      [{ machineFingerprint: 'x'.repeat(257) }, /^machineFingerprint: /],
      [{ machineLabel: no }, /^machineLabel: give a text/],
      [{ appVersion: '2.0-beta' }, /^appVersion: give a dotted/],
      [{ appVersion: '' }, /^appVersion: /],
      [{ appVersion: `1${'.0'.repeat(16)}` }, /^appVersion: .* at most 32/],
      [{ appVersion: no }, /^appVersion: /],
      [{ store: no }, /^store: give an object with load/],
      [{ store: { ...createMemoryStore(), clear: no } }, /^store: /],
      [{ freeLimits: no }, /^freeLimits: give whole numbers by name/],
      [{ freeLimits: { projects: 1.5 } }, /^freeLimits.projects: give a whole number/],
      [{ freeLimits: { projects: -2 } }, /^freeLimits.projects: /],
      [{ freeLimits: { '9': 1 } }, /^freeLimits: name limits by .* not "9"/],
      [{ keepLicenseKey: no }, /^keepLicenseKey: give true or false/],
      [{ allowHttp: no }, /^allowHttp: give true or false/],
      [{ softCheckIntervalMs: no }, /^softCheckIntervalMs: give whole milliseconds/],
      [
        { softCheckIntervalMs: 59_999 },
        /^softCheckIntervalMs: .* 60000 \(a minute\) to 2592000000 \(30 days\)/,
      ],
      [{ softCheckIntervalMs: 60_000.5 }, /^softCheckIntervalMs: /],
      [{ softCheckIntervalMs: 30 * 86_400_000 + 1 }, /^softCheckIntervalMs: /],
      [{ clockToleranceMs: -1 }, /^clockToleranceMs: give milliseconds/],
      [{ clockToleranceMs: Number.NaN }, /^clockToleranceMs: /],
      [{ timeoutMs: 0 }, /^timeoutMs: give whole milliseconds, 1 to 2147483647/],
      [{ timeoutMs: 1.5 }, /^timeoutMs: /],
      [{ timeoutMs: 2 ** 31 }, /^timeoutMs: /],
      [{ onError: no }, /^onError: give a function/],
      [{ fetch: no }, /^fetch: give a function/],
      [{ clock: no }, /^clock: give an object/],
      [{ random: no }, /^random: give a function/],
      [{ trust: no }, /^trust: give/],
      [{ trust: JSON.parse('{}') }, /^trust: give/],
      [{ trust: { publicKeyPems: no } }, /^trust.publicKeyPems: give an array/],
      [
        { trust: { thumbprints: JSON.parse('"text"') } },
        /^trust.thumbprints: give an array of at least one text/,
      ],
      [{ trust: { publicKeyPems: [] } }, /^trust.publicKeyPems: give an array of at least one text/],
      [
        { trust: { publicKeyPems: ['a key'], thumbprints: [] } },
        /^trust.thumbprints: give an array of at least one/,
      ],
      [
        { trust: { publicKeyPems: ['-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'] } },
        /^trust.publicKeyPems: /,
      ],
      [{ trust: { publicKeyPems: ['no key'] } }, /^trust.publicKeyPems: not a public key in PEM/],
      [{ trust: { thumbprints: ['short'] } }, /^trust.thumbprints: give the kid/],
    ];
    for (const [options, message] of wrong) {
      const error = await machine.open(options).then(
        () => undefined,
        (thrown) => thrown,
      );
      expect(error, String(message)).to.be.instanceOf(TypeError);
      expect(error.message).to.match(message);
    }
    for (const hubUrl of [
      'http://localhost:5099/hub',
      'http://127.0.0.1:5099',
      'http://[::1]:5099',
      'https://h',
    ]) {
      await machine.open({ hubUrl });
    }
    await machine.open({ hubUrl: 'http://hub.intranet', allowHttp: true });
  });
});
