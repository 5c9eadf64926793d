// The soft check against a real hub: its times and its verdicts.
import { expect } from 'chai';
import type { LicenseClientOptions } from '../../client/client.ts';
import { readRecord, writeRecord } from '../../client/state/record.ts';
import { createMemoryStore } from '../../client/state/store.ts';
import { parseId } from '../../core/ids.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { createApp, issueLicense, type TestLicense } from '../support/hub/license.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { query } from '../support/postgres/databases.ts';
import { failureOf } from './failure-of.ts';
import { startImpostor } from './impostor.ts';
import { createMachine, FREE, type Machine, publicKeyOf } from './machine.ts';
import { createVirtualTime, DAY, HOUR, MINUTE } from './virtual-time.ts';

describe('the soft check', () => {
  let hub: TestHub;
  let proxy: TcpProxy;
  let time = createVirtualTime();
  before(async () => {
    hub = await startHub({ clock: () => time.date() });
    proxy = await startTcpProxy(hub.gatewayUrl);
  });
  after(async () => {
    await proxy.down();
    await hub.stop();
  });
  beforeEach(() => {
    time = createVirtualTime();
  });

  const machineFor = async (
    { app }: TestLicense,
    options: Partial<LicenseClientOptions> = {},
  ): Promise<Machine> => {
    const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, app)] };
    return createMachine({ time, hubUrl: proxy.url, app, trust, ...options });
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
  const statusOf = ({ licenseId }: TestLicense): string => `GET /v1/status/${licenseId}`;
  const setExpiry = ({ licenseId }: TestLicense, expiresAt: Date) =>
    query(hub.databaseUrl, 'update license set expires_at = $2 where id = $1', [
      parseId('lic', licenseId),
      expiresAt,
    ]);

  it('checks at the time that the hub sets, not earlier, and not at a restart', async () => {
    const { issued, machine, client } = await activated();
    time.advance(DAY - HOUR);
    await client.recheck();
    await (await machine.open()).recheck();
    expect(machine.requests).to.deep.equal([]);
    time.advance(HOUR);
    await client.recheck();
    await client.recheck();
    await (await machine.open()).recheck();
    expect(machine.requests).to.deep.equal([statusOf(issued)]);
  });

  it('prefers the interval of the application, also over restarts', async () => {
    for (const softCheckIntervalMs of [MINUTE, 5 * MINUTE, 7 * DAY, 30 * DAY]) {
      const { issued, machine, client } = await activated({}, { softCheckIntervalMs });
      const asked: number[] = [];
      for (const ms of [softCheckIntervalMs - 1, 1, softCheckIntervalMs - 1, 1]) {
        time.advance(ms);
        await client.recheck();
        await (await machine.open()).recheck();
        asked.push(machine.requests.length);
      }
      expect(asked, `${softCheckIntervalMs} ms`).to.deep.equal([0, 1, 1, 2]);
      expect(machine.requests).to.deep.equal([statusOf(issued), statusOf(issued)]);
    }
  });

  it('checks at once when forced', async () => {
    const { issued, machine, client } = await activated();
    await client.recheck({ force: true });
    expect(machine.requests).to.deep.equal([statusOf(issued)]);
  });

  it('sends the fingerprint unchanged', async () => {
    const { client } = await activated({}, { machineFingerprint: 'a+b/c= &%ü💻' });
    expect(await client.recheck({ force: true })).to.include({ licensed: true, problem: undefined });
  });

  for (const [what, reason, change] of [
    [
      'a revoked license',
      'license_revoked',
      ({ licenseId }: TestLicense) => hub.admin.revokeLicense({ licenseId, reason: 'refund' }),
    ],
    [
      'a license that was cut short',
      'license_expired',
      (issued: TestLicense) => setExpiry(issued, time.date()),
    ],
  ] as const) {
    it(`ends ${what} at once and permanently`, async () => {
      const { issued, machine, client } = await activated();
      const before = await machine.store.load();
      await change(issued);
      const verdict = await client.recheck({ force: true });
      expect(verdict).to.deep.include({ licensed: false, reason, license: undefined });
      expect(verdict.limits, 'the hub knows no Free profile').to.deep.equal(FREE);
      const offline = await machine.open({ hubUrl: 'http://127.0.0.1:1' });
      expect(offline.current()).to.include({ licensed: false, reason });
      expect(await offline.recheck({ force: true })).to.include({ licensed: false, reason });

      // Who puts an older record back is found out by the next question.
      const restored = await machine.open({ store: createMemoryStore(before) });
      expect(await restored.recheck({ force: true })).to.include({ licensed: false, reason });
    });
  }

  const takeSeat = async ({ licenseId }: TestLicense) => {
    const { seats } = await hub.admin.listSeats({ licenseId });
    await hub.admin.releaseSeat({ seatId: seats[0]?.seatId ?? '' });
  };

  it('ends a released seat permanently after three answers of the hub over an hour', async () => {
    const { issued, machine, client } = await activated();
    await takeSeat(issued);
    const asked: number[] = [];
    for (let minute = 0; client.current().licensed && minute < 120; minute++) {
      const before = machine.requests.length;
      const verdict = await client.recheck({ force: minute === 0 });
      if (machine.requests.length > before) asked.push(minute);
      if (verdict.licensed) expect(verdict.problem).to.include({ code: 'seat_not_active' });
      time.advance(MINUTE);
    }
    expect(asked).to.deep.equal([0, 1, 3, 7, 15, 31, 63]);
    const reason = 'seat_not_active';
    expect(client.current()).to.deep.include({ licensed: false, reason, license: undefined });
    const offline = await machine.open({ hubUrl: 'http://127.0.0.1:1' });
    expect(offline.current()).to.include({ licensed: false, reason });
  });

  it('counts these answers over restarts', async () => {
    const { issued, machine } = await activated();
    await query(hub.databaseUrl, 'delete from seat where license_id = $1', [
      parseId('lic', issued.licenseId),
    ]);
    const licensed: boolean[] = [];
    for (const pause of [DAY, MINUTE, 58 * MINUTE, MINUTE]) {
      time.advance(pause);
      licensed.push((await (await machine.open()).recheck()).licensed);
    }
    expect(licensed).to.deep.equal([true, true, true, false]);
    expect(machine.requests.filter((request) => request === statusOf(issued))).to.have.length(4);
  });

  it('keeps a license that the hub loses for a moment', async () => {
    const { machine } = await activated();
    const lost = { type: 'about:blank', title: 'Not found', status: 404, code: 'license_unknown' };
    await using restored = await startImpostor((_, res) =>
      res.writeHead(404, { 'content-type': 'application/problem+json' }).end(JSON.stringify(lost)),
    );
    const wrong = await machine.open(restored);
    const first = await wrong.recheck({ force: true });
    expect(first.licensed).to.equal(true);
    expect(first.problem?.code).to.equal('license_unknown');
    for (let time = 0; time < 5; time++) await wrong.recheck({ force: true });
    expect(wrong.current().licensed, 'asked often, but not for long').to.equal(true);

    expect(await (await machine.open()).recheck()).to.include({ licensed: true, problem: undefined });
    time.advance(DAY);
    await wrong.recheck({ force: true });
    expect(wrong.current().licensed, 'counted anew').to.equal(true);
  });

  it('does not wait forever after a first answer dated in the future', async () => {
    const { issued, machine } = await activated();
    await takeSeat(issued);
    const record = await readRecord((await machine.store.load()) ?? '');
    const unconfirmedRefusal = {
      code: 'seat_not_active',
      since: '2099-01-01T00:00:00.000Z',
      answers: 1,
    } as const;
    await machine.store.save(await writeRecord({ ...record, unconfirmedRefusal }));
    const client = await machine.open();
    for (let minute = 0; minute <= 64; minute++) {
      await client.recheck();
      time.advance(MINUTE);
    }
    expect(client.current()).to.include({ licensed: false, reason: 'seat_not_active' });
  });

  it('does not check more often for an expired license if the clock is slightly late', async () => {
    const { issued, machine, client } = await activated();
    machine.clock.ahead = -5 * MINUTE;
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
    await client.recheck({ force: true });
    machine.requests.length = 0;
    await (await machine.open()).recheck();
    expect(machine.requests).to.not.include(statusOf(issued));
    time.advance(DAY + HOUR);
    await (await machine.open()).recheck();
    expect(machine.requests).to.include(statusOf(issued));
  });

  it('checks at once if its record is dated in the future', async () => {
    const { issued, machine } = await activated();
    const record = await readRecord((await machine.store.load()) ?? '');
    const checkedAt = new Date(time.date().getTime() + 3650 * DAY).toISOString();
    await machine.store.save(await writeRecord({ ...record, checkedAt }));
    await (await machine.open()).recheck();
    expect(machine.requests).to.deep.equal([statusOf(issued)]);
  });

  it('does not restore a released seat, however often it checks', async () => {
    const { issued, machine, client } = await activated({ leaseDays: 3 });
    const { seats } = await hub.admin.listSeats({ licenseId: issued.licenseId });
    await hub.admin.releaseSeat({ seatId: seats[0]?.seatId ?? '' });
    for (let day = 0; day < 5; day++) {
      time.advance(DAY);
      await client.recheck();
    }
    expect(client.current()).to.include({ licensed: false, reason: 'seat_not_active' });
    expect((await hub.admin.listSeats({ licenseId: issued.licenseId })).seats).to.have.length(0);
    expect(machine.requests.filter((request) => request.startsWith('POST'))).to.deep.equal([]);
    expect((await client.activate(issued.licenseKey)).licensed).to.equal(true);
  });

  it('restores a license that was revoked by mistake', async () => {
    const { issued, client } = await activated();
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'mistake' });
    expect((await client.recheck({ force: true })).licensed).to.equal(false);
    await hub.admin.reinstateLicense({ licenseId: issued.licenseId });
    time.advance(DAY);
    expect((await client.recheck()).licensed).to.equal(true);
  });

  it('ends its license when its own key is refused', async () => {
    const { issued, client } = await activated();
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
    const typed = issued.licenseKey.toLowerCase().replaceAll('-', ' ');
    expect((await failureOf(client.activate(typed))).code).to.equal('license_revoked');
    expect(client.current()).to.include({ licensed: false, reason: 'license_revoked' });
  });

  it('checks at the time that the hub sets, also after a renewal', async () => {
    const app = await createApp(hub.admin);
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 3n } });
    const { machine, client } = await activated({ app, limitProfile: 'pro' });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 5n } });
    const weekly: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      return new Response(
        (await answer.text()).replace('"recheckAfterSeconds":86400', '"recheckAfterSeconds":604800'),
      );
    };
    await (await machine.open({ fetch: weekly })).recheck({ force: true });
    expect((await client.check()).limits).to.deep.equal({ projects: 5 });
    machine.requests.length = 0;
    time.advance(7 * DAY - 1);
    await (await machine.open()).recheck();
    expect(machine.requests).to.deep.equal([]);
  });

  it('applies new limits and another expiry', async () => {
    const app = await createApp(hub.admin);
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 3n } });
    const { issued, machine, client } = await activated({ app, limitProfile: 'pro' });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 5n } });
    expect((await client.recheck({ force: true })).limits).to.deep.equal({ projects: 5 });
    await setExpiry(issued, new Date('2026-12-01T00:00:00.000Z'));
    expect(await client.recheck({ force: true })).to.deep.include({
      licensed: true,
      validUntil: new Date('2026-12-01T00:00:00.000Z'),
    });
    expect(machine.requests).to.deep.equal([
      statusOf(issued),
      'POST /v1/activate',
      statusOf(issued),
      'POST /v1/activate',
    ]);
  });

  describe('of a license with a lease', () => {
    it('renews it after two thirds of its time', async () => {
      const { issued, machine, client } = await activated({ leaseDays: 15 });
      for (let day = 0; day < 10; day++) {
        await client.recheck();
        time.advance(DAY);
      }
      expect(machine.requests).to.deep.equal(Array(9).fill(statusOf(issued)));
      const verdict = await client.recheck();
      expect(machine.requests.at(-1)).to.equal('POST /v1/activate');
      expect(verdict).to.deep.include({ validUntil: new Date('2026-05-26T12:00:00.000Z') });
    });

    it('checks before the lease ends, even if the next check would be later', async () => {
      const { machine, client } = await activated({ leaseDays: 1 });
      time.advance(16 * HOUR);
      expect(await client.recheck()).to.deep.include({ validUntil: new Date('2026-05-03T04:00:00.000Z') });
      expect(machine.requests).to.have.length(2);
    });

    it('lets it expire if the key was not stored', async () => {
      const { machine, client } = await activated({ leaseDays: 2 }, { keepLicenseKey: false });
      time.advance(DAY + 23 * HOUR);
      expect((await client.recheck()).licensed).to.equal(true);
      time.advance(HOUR);
      expect(await client.recheck()).to.include({ licensed: false, reason: 'lease_over' });
      expect(machine.requests).to.not.include('POST /v1/activate');
    });

    it('keeps the old one if the new one is signed by an unknown key', async () => {
      const { issued, machine, client } = await activated({ leaseDays: 15 });
      await hub.admin.rotateSigningKey({ app: issued.app });
      time.advance(11 * DAY);
      const verdict = await client.recheck();
      expect(verdict.licensed).to.equal(true);
      expect(verdict.problem).to.include({ code: 'untrusted_key', isRetryable: false });

      const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, issued.app)] };
      const updated = await machine.open({ trust });
      expect(updated.current()).to.include({ licensed: false, reason: 'untrusted_key' });
      expect(await updated.recheck()).to.include({ licensed: true, problem: undefined });
    });
  });

  describe('without a response', () => {
    afterEach(async () => {
      await proxy.down();
      await proxy.up();
    });

    it('keeps the license until its lease ends, and reports the error', async () => {
      const { client } = await activated({ leaseDays: 7 });
      await proxy.down();
      time.advance(6 * DAY);
      const verdict = await client.recheck();
      expect(verdict).to.deep.include({ licensed: true, validUntil: new Date('2026-05-08T12:00:00.000Z') });
      expect(verdict.problem).to.include({ code: 'network', isRetryable: true });
      time.advance(DAY);
      expect(client.current()).to.include({ licensed: false, reason: 'lease_over' });
      await proxy.up();
      expect(await client.recheck({ force: true })).to.include({ licensed: true, problem: undefined });
    });

    it('retries at growing intervals of at most an hour', async () => {
      const { machine, client } = await activated();
      await proxy.down();
      time.advance(DAY);
      const asked: number[] = [];
      for (let minute = 0; minute < 5 * 60; minute++) {
        const before = machine.requests.length;
        await client.recheck();
        if (machine.requests.length > before) asked.push(minute);
        time.advance(MINUTE);
      }
      expect(asked).to.deep.equal([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
    });

    it('spreads clients over half of each interval', async () => {
      const { machine } = await activated();
      const client = await machine.open({ random: () => 0 });
      await proxy.down();
      time.advance(DAY);
      await client.recheck();
      time.advance(MINUTE / 2 - 1);
      await client.recheck();
      expect(machine.requests).to.have.length(1);
      time.advance(1);
      await client.recheck();
      expect(machine.requests).to.have.length(2);
    });

    it('ignores responses of other servers', async () => {
      const { machine } = await activated();
      for (const status of [200, 403, 404, 410, 500]) {
        await using odd = await startImpostor((_, res) => res.writeHead(status).end('<html>'));
        const verdict = await (await machine.open(odd)).recheck({ force: true });
        expect(verdict.licensed, String(status)).to.equal(true);
        expect(verdict.problem?.code).to.equal('unexpected_answer');
      }
    });

    it('ignores the status of another license', async () => {
      const { machine } = await activated();
      const other = await activated();
      const answer = await fetch(`${hub.gatewayUrl}/v1/status/${other.issued.licenseId}`);
      const body = await answer.text();
      await using odd = await startImpostor((_, res) => res.writeHead(200).end(body));
      const verdict = await (await machine.open(odd)).recheck({ force: true });
      expect(verdict.problem?.code).to.equal('unexpected_answer');
    });

    it('ignores an incomplete status', async () => {
      const { issued, machine } = await activated();
      const checkedAt = time.date().toISOString();
      const good = {
        ok: true,
        licenseId: issued.licenseId,
        state: 'active',
        checkedAt,
        recheckAfterSeconds: 60,
      };
      const asked = async (answer: object) => {
        await using odd = await startImpostor((_, res) => res.writeHead(200).end(JSON.stringify(answer)));
        return (await (await machine.open(odd)).recheck({ force: true })).problem?.code;
      };
      expect(await asked(good)).to.not.equal('unexpected_answer');
      for (const lack of [
        { ok: false },
        { state: 'revoked' },
        { checkedAt: 'now' },
        { recheckAfterSeconds: '60' },
        { limits: { projects: 1.5 } },
        { limits: [] },
      ]) {
        expect(await asked({ ...good, ...lack }), JSON.stringify(lack)).to.equal('unexpected_answer');
      }
    });

    it('waits as long as Retry-After says, even when forced', async () => {
      const limited = await startHub({
        beside: hub,
        settings: { licenseRatePerMinute: 1 },
        clock: () => time.date(),
      });
      try {
        const { machine } = await activated();
        const client = await machine.open({ hubUrl: limited.gatewayUrl });
        expect((await client.recheck({ force: true })).problem).to.equal(undefined);
        const verdict = await client.recheck({ force: true });
        expect(verdict.licensed).to.equal(true);
        expect(verdict.problem).to.include({ code: 'rate_limited', isRetryable: true });
        const asked = machine.requests.length;
        await client.recheck({ force: true });
        expect(machine.requests).to.have.length(asked);
        time.advance(MINUTE);
        await client.recheck({ force: true });
        expect(machine.requests).to.have.length(asked + 1);
      } finally {
        await limited.stop();
      }
    });

    it('stops when aborted, without side effects', async () => {
      const { machine } = await activated();
      const caller = new AbortController();
      await using silent = await startImpostor(() => caller.abort());
      const client = await machine.open(silent);
      expect((await failureOf(client.recheck({ force: true, signal: caller.signal }))).code).to.equal(
        'aborted',
      );
      expect(client.current()).to.include({ licensed: true, problem: undefined });
    });
  });

  describe('of a machine without a license', () => {
    it('fetches the Free limits once a day, and keeps them in memory only', async () => {
      const issued = await issueLicense(hub.admin);
      await hub.admin.setLimitProfile({ app: issued.app, name: 'free', limits: { projects: 2n } });
      const machine = await machineFor(issued);
      const client = await machine.open();
      const { limits } = await client.recheck();
      expect(limits, 'the other name is not made unlimited').to.deep.equal({ ...FREE, projects: 2 });
      expect(Object.isFrozen(limits)).to.equal(true);
      time.advance(DAY - 1);
      await client.recheck();
      expect(machine.requests).to.deep.equal([`GET /v1/apps/${issued.app}/limits/free`]);
      await hub.admin.setLimitProfile({ app: issued.app, name: 'free', limits: { projects: 4n } });
      time.advance(1);
      expect((await client.recheck()).limits).to.deep.equal({ ...FREE, projects: 4 });
      expect((await machine.open()).current().limits).to.deep.equal(FREE);
    });

    it('uses the built-in limits if the hub has none or is unreachable', async () => {
      const issued = await issueLicense(hub.admin);
      const machine = await machineFor(issued);
      expect(await (await machine.open()).recheck()).to.deep.include({ limits: FREE, problem: undefined });
      const offline = await machine.open({ hubUrl: 'http://127.0.0.1:1' });
      const verdict = await offline.recheck();
      expect(verdict.limits).to.deep.equal(FREE);
      expect(verdict.problem?.code).to.equal('network');
    });

    it('ignores invalid limits', async () => {
      const issued = await issueLicense(hub.admin);
      const good = { app: issued.app, profile: 'free', limits: { projects: 5 } };
      for (const odd of [
        ...[undefined, null, [], { projects: '5' }, { projects: 1.5 }, { projects: -2 }, { 'a b': 1 }].map(
          (limits) => ({ limits }),
        ),
        { app: 'another-app' },
        { profile: 'pro' },
        { profile: undefined },
      ]) {
        const body = JSON.stringify({ ...good, ...odd });
        await using forged = await startImpostor((_, res) => res.writeHead(200).end(body));
        const verdict = await (await (await machineFor(issued, forged)).open()).recheck();
        expect(verdict.limits, body).to.deep.equal(FREE);
        expect(verdict.problem?.code).to.equal('unexpected_answer');
      }
    });

    it('reports an unknown app', async () => {
      const issued = await issueLicense(hub.admin);
      const verdict = await (await (await machineFor(issued, { app: 'no-such-app' })).open()).recheck();
      expect(verdict.problem).to.include({ code: 'app_unknown', isRetryable: false });
    });
  });
});
