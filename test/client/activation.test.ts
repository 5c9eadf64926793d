// Activation and release, against a real hub.
import { expect } from 'chai';
import type { LicenseClientOptions } from '../../client/client.ts';
import type { LicenseErrorCode } from '../../client/errors.ts';
import { readRecord, writeRecord } from '../../client/record.ts';
import { createMemoryStore } from '../../client/store.ts';
import { startHub, type TestHub } from '../support/hub.ts';
import { issueLicense, type TestLicense } from '../support/license.ts';
import { activate } from '../support/rest.ts';
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
  it('without a license is Free, with the limits of the build', async () => {
    const client = await (await machineFor(await issueLicense(hub.admin))).open();
    expect(client.current()).to.deep.equal({
      licensed: false,
      reason: 'no_license',
      limits: FREE,
      license: undefined,
      problem: undefined,
    });
  });

  it('activates, and is licensed from then on, without the hub and after a restart', async () => {
    const issued = await issueLicense(hub.admin, {
      customer: 'Zoë & Söhne',
      limits: { projects: -1n, exports: 9007199254740991n },
      leaseDays: 14,
    });
    const machine = await machineFor(issued, { machineLabel: 'Desk\u0007 7', appVersion: '2.1.0' });
    const verdict = await (await machine.open()).activate(` ${issued.licenseKey.toLowerCase()} `);
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

  it('says why it cannot activate, and stays what it was', async () => {
    const good = await issueLicense(hub.admin);
    const machine = await machineFor(good);
    const client = await machine.open();
    await client.activate(good.licenseKey);
    const before = client.current();

    const full = await issueLicense(hub.admin, { app: good.app, seatLimit: 0 });
    const seatless = await failureOf(client.activate(full.licenseKey));
    expect(seatless).to.deep.include({ code: 'seat_limit_reached', status: 409, isRetryable: false });
    expect(seatless).to.deep.include({ seats: { limit: 0, used: 0 } });
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

  it('shows no license key and no fingerprint in what it throws', async () => {
    const issued = await issueLicense(hub.admin, { seatLimit: 0 });
    const client = await (await machineFor(issued, { machineFingerprint: 'machine-secret' })).open();
    const failure = await failureOf(client.activate(issued.licenseKey));
    const shown = `${failure.stack} ${JSON.stringify(failure)}`;
    expect(shown).to.not.include(issued.licenseKey).and.not.include('machine-secret');
  });

  it('takes no license that another key signed, though the answer brings that key', async () => {
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

  it('takes no license of another app that is signed with the same key', async () => {
    const issued = await issueLicense(hub.admin);
    const client = await (await machineFor(issued, { app: 'another-app' })).open();
    expect((await failureOf(client.activate(issued.licenseKey))).code).to.equal('wrong_app');
  });

  it('takes no license that comes with another key than the one that signed it', async () => {
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

  it('waits in the background for as long as its activation was asked to', async () => {
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

  it('can pin several keys, and keys by their thumbprint', async () => {
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

  it('fetches a key that is pinned by its thumbprint and not here, and takes no other', async () => {
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

  it('releases its seat, for another machine', async () => {
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

  it('keeps no license key if it shall not, and asks for it to release the seat', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued, { keepLicenseKey: false });
    const client = await machine.open();
    await client.activate(issued.licenseKey);
    expect(await machine.store.load()).to.not.include(issued.licenseKey);
    expect((await failureOf(client.deactivate())).code).to.equal('license_key_missing');
    expect((await client.deactivate({ licenseKey: issued.licenseKey })).licensed).to.equal(false);
  });

  it('leaves its license alone when the seat of another one is released', async () => {
    const issued = await issueLicense(hub.admin);
    const other = await issueLicense(hub.admin, { app: issued.app });
    const client = await (await machineFor(issued)).open();
    await client.activate(other.licenseKey);
    await client.activate(issued.licenseKey);
    expect((await client.deactivate({ licenseKey: other.licenseKey })).licensed).to.equal(true);
  });

  it('that activates and releases at once ends without a seat', async () => {
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

  describe('that does not reach the hub', () => {
    let issued: TestLicense;
    before(async () => {
      issued = await issueLicense(hub.admin);
    });

    const attempt = async (options: Partial<LicenseClientOptions>, signal?: AbortSignal) => {
      const client = await (await machineFor(issued, options)).open();
      return failureOf(client.activate(issued.licenseKey, { signal }));
    };

    it('says so', async () => {
      expect(await attempt({ hubUrl: 'http://127.0.0.1:1' })).to.include({
        code: 'network',
        isRetryable: true,
      });
    });

    it('gives up after its time-out', async () => {
      await using silent = await startImpostor(() => time.advance(10_000));
      expect(await attempt(silent)).to.include({ code: 'timeout', isRetryable: true });
    });

    it('gives up an answer that does not end', async () => {
      await using slow = await startImpostor((_, res) => {
        res.writeHead(200).write('{');
        setImmediate(() => time.advance(10_000));
      });
      expect((await attempt(slow)).code).to.equal('timeout');
    });

    it('gives up when it is told to', async () => {
      const caller = new AbortController();
      await using silent = await startImpostor(() => caller.abort());
      expect(await attempt(silent, caller.signal)).to.include({ code: 'aborted', isRetryable: false });
      expect((await attempt({}, AbortSignal.abort())).code).to.equal('aborted');
    });

    it('does not wait for its turn when it is told to give up', async () => {
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
      it(`takes ${what} for no answer of a hub`, async () => {
        await using odd = await startImpostor((_, res) =>
          res.writeHead(status, { 'content-type': type }).end(body),
        );
        expect(await attempt(odd)).to.include({ code: 'unexpected_answer', isRetryable: true });
      });
    }
  });

  it('tells the vendor at once what is wrong with its options', async () => {
    const issued = await issueLicense(hub.admin);
    const machine = await machineFor(issued);
    const wrong: [Partial<LicenseClientOptions>, RegExp][] = [
      [{ hubUrl: 'licenses.example.com' }, /^hubUrl: give the address/],
      [{ hubUrl: 'http://licenses.example.com' }, /^hubUrl: use https/],
      [{ hubUrl: 'https://me@licenses.example.com' }, /^hubUrl: leave out/],
      [{ app: 'Photo Lab' }, /^app: /],
      [{ machineFingerprint: '' }, /^machineFingerprint: /],
      [{ machineFingerprint: 'a\nb' }, /^machineFingerprint: /],
      [{ machineFingerprint: 'x'.repeat(257) }, /^machineFingerprint: /],
      [{ appVersion: '2.0-beta' }, /^appVersion: /],
      [{ freeLimits: { projects: 1.5 } }, /^freeLimits: /],
      [{ trust: {} }, /^trust: /],
      [
        { trust: { publicKeyPems: ['-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'] } },
        /^trust.publicKeyPems: /,
      ],
      [{ trust: { publicKeyPems: ['no key'] } }, /^trust.publicKeyPems: not a public key in PEM/],
      [{ trust: { thumbprints: ['short'] } }, /^trust.thumbprints: /],
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
