import { expect } from 'chai';
import { SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { query } from '../../../support/postgres/databases.ts';
import { addSlot, CREDENTIALS, driverOf } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { type FakeProvider, startProvider } from '../providers/fake-provider.ts';
import { refusal } from '../refusal.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');
const NEW_CREDENTIALS = { clerk: 'Robert', password: 'sesame street' };

describe('a payment slot', () => {
  let admin: PaymentAdmin;
  let now = NOW;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => now });
  });
  after(() => admin.stop());

  const sandbox = {
    gateway: 'till',
    environment: SlotEnvironment.SANDBOX,
    baseUrl: 'http://127.0.0.1:9/api',
    credentials: CREDENTIALS,
  };

  it('is shown without its credentials, with its default options', async () => {
    const { slot } = await admin.client.addSlot({
      ...sandbox,
      name: 'main',
      baseUrl: 'http://127.0.0.1:9/api//',
    });
    expect(slot).to.deep.include({
      name: 'main',
      gateway: 'till',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: 'http://127.0.0.1:9/api',
      options: { receipt: 'paper' },
    });
    expect(slot?.slotId).to.match(/^slot_[0-9a-z]{26}$/);
    expect((await admin.client.getSlot({ slot: 'main' })).slot).to.deep.equal(slot);
    await admin.client.addSlot({ ...sandbox, name: 'a-first', options: { receipt: 'mail' } });
    const { slots } = await admin.client.listSlots({});
    expect(slots.map(({ name, options }) => [name, options['receipt']])).to.deep.equal([
      ['a-first', 'mail'],
      ['main', 'paper'],
    ]);
    expect(await refusal(admin.client.addSlot({ ...sandbox, name: 'main' }))).to.include({
      code: 'slot_exists',
    });
    const elsewhere = admin.client.addSlot({ ...sandbox, name: 'other', gateway: 'nowhere' });
    expect(await refusal(elsewhere)).to.include({ code: 'gateway_unknown' });
    for (const name of ['nowhere', 'no\0where', 'Main']) {
      expect(await refusal(admin.client.getSlot({ slot: name }))).to.include({ code: 'slot_unknown' });
    }
  });

  it('requires exactly the credentials of its gateway, and names wrong ones without their values', async () => {
    const { name } = await addSlot(admin);
    for (const [credentials, complaint] of [
      [{ clerk: 'Alice' }, 'password is missing'],
      [{ ...CREDENTIALS, pin: '4711' }, 'pin is unknown'],
      [{ clerk: 'Alice', password: '' }, 'password has fewer than 4 characters'],
      [{ clerk: 'Ada', password: 'sesame' }, 'clerk has fewer than 4 characters'],
      [{ clerk: 'Alice', password: 'open sesame\n' }, 'password contains a line break'],
      [{ Password: 'open sesame' }, 'clerk is missing; password is missing; Password is unknown'],
    ] as const) {
      for (const call of [
        admin.client.addSlot({ ...sandbox, name: 'never', credentials: { ...credentials } }),
        admin.client.rotateSlotCredentials({ slot: name, credentials: { ...credentials } }),
      ]) {
        const refused = await refusal(call);
        expect(refused).to.include({ code: 'credentials_invalid', field: 'credentials' });
        expect(refused.message)
          .to.contain(complaint)
          .and.not.match(/open sesame|4711|Ada/);
      }
    }
    expect(await refusal(admin.client.getSlot({ slot: 'never' }))).to.include({ code: 'slot_unknown' });
    expect((await access(name)).credentials.reveal()).to.deep.equal(CREDENTIALS);
  });

  it("requires the provider's addresses over TLS in production, and accepts any over HTTP in a sandbox", async () => {
    const { SANDBOX, PRODUCTION } = SlotEnvironment;
    const kept = async (environment: SlotEnvironment, baseUrl: string) => {
      const name = `slot-${Math.random().toString(36).slice(2)}`;
      return (await admin.client.addSlot({ ...sandbox, name, environment, baseUrl })).slot?.baseUrl;
    };
    expect(await kept(PRODUCTION, '')).to.equal('https://till.example/api');
    expect(await kept(PRODUCTION, 'https://till.example/api-2/')).to.equal('https://till.example/api-2');
    expect(await kept(SANDBOX, 'https://sandbox.example')).to.equal('https://sandbox.example');
    for (const [environment, baseUrl] of [
      [PRODUCTION, 'http://till.example/api'],
      [PRODUCTION, 'https://till.example/other'],
      [PRODUCTION, 'https://evil.example/api'],
      [PRODUCTION, 'https://till.example.evil.example/api'],
      [SANDBOX, ''],
      [SANDBOX, 'sandbox.example'],
      [SANDBOX, 'ftp://sandbox.example'],
      [SANDBOX, 'https://ada:canary@sandbox.example'],
      [SANDBOX, 'https://sandbox.example/?password=canary'],
      [SANDBOX, 'https://sandbox.example/#canary'],
    ] as const) {
      const refused = await refusal(kept(environment, baseUrl));
      expect(refused, baseUrl).to.include({ code: 'base_url_invalid', field: 'baseUrl' });
      expect(refused.message).to.not.contain('canary');
    }
  });

  it('accepts the options of its gateway with their values', async () => {
    for (const options of [{ colour: 'red' }, { receipt: 'pigeon' }, { constructor: 'x' }]) {
      const refused = await refusal(admin.client.addSlot({ ...sandbox, name: 'never', options }));
      expect(refused).to.include({ code: 'slot_option_invalid', field: 'options' });
    }
  });

  it('opens only credentials sealed for itself', async () => {
    const [one, other] = [await addSlot(admin), await addSlot(admin)];
    await query(
      admin.databaseUrl,
      `update slot set sealed_credentials = (select sealed_credentials from slot where id = $1) where id = $2`,
      [one.id, other.id],
    );
    const error = await access(other.name).catch((thrown: Error) => thrown);
    expect(error).to.be.an('error').with.property('message').that.contains('cannot be opened');
  });

  it('uses new credentials at once after a rotation, and drops the old token', async () => {
    const { name, id } = await addSlot(admin);
    const before = await access(name);
    await before.tokens.get(async () => ({ token: 'old token', expiresInSeconds: 3_600 }));
    now = new Date(NOW.getTime() + 1_000);
    const { slot } = await admin.client.rotateSlotCredentials({ slot: name, credentials: NEW_CREDENTIALS });
    expect(slot?.rotatedAt?.seconds).to.equal(BigInt(now.getTime() / 1000));
    const later = await access(name);
    expect(later.credentials.reveal()).to.deep.equal(NEW_CREDENTIALS);
    const token = await later.tokens.get(async () => ({ token: 'new token', expiresInSeconds: 3_600 }));
    expect(token).to.equal('new token');
    expect(await auditOf(id)).to.deep.equal(['slot.add', 'slot.rotate']);
  });

  it('keeps its connections and running calls through rotations', async () => {
    const provider = await startProvider(() => ({ body: 'welcome' }));
    try {
      const { name } = await addSlot(admin, { baseUrl: provider.url });
      const underWay = await access(name);
      now = new Date(now.getTime() + 1_000);
      await admin.client.rotateSlotCredentials({ slot: name, credentials: NEW_CREDENTIALS });
      expect((await access(name)).http).to.equal(underWay.http);
      const { body } = await underWay.http.send({ method: 'GET', url: `${provider.url}/check` });
      expect(body).to.equal('welcome');
    } finally {
      await provider.close();
    }
  });

  it('is disabled and enabled once each', async () => {
    const { name, id } = await addSlot(admin);
    const set = async (disabled: boolean) =>
      (await admin.client.setSlotDisabled({ slot: name, disabled })).slot;
    const first = await set(true);
    now = new Date(now.getTime() + 1_000);
    expect((await set(true))?.disabledAt)
      .to.deep.equal(first?.disabledAt)
      .and.not.equal(undefined);
    await set(false);
    expect((await set(false))?.disabledAt).to.equal(undefined);
    expect(await auditOf(id)).to.deep.equal(['slot.add', 'slot.disable', 'slot.enable']);
  });

  it('changes only the named options', async () => {
    const { name, id } = await addSlot(admin);
    const set = (options: Record<string, string>) => admin.client.updateSlot({ slot: name, options });
    expect((await set({ receipt: 'mail' })).slot?.options).to.deep.equal({ receipt: 'mail' });
    expect(await set({ receipt: 'mail' })).to.include({ unchanged: true });
    for (const wrong of [{ receipt: 'none' }, { paper: 'yes' }] as const) {
      expect(await refusal(set(wrong))).to.include({ code: 'slot_option_invalid', field: 'options' });
    }
    expect((await admin.client.getSlot({ slot: name })).slot?.options).to.deep.equal({ receipt: 'mail' });
    expect(
      await refusal(admin.client.updateSlot({ slot: 'nowhere', options: { receipt: 'mail' } })),
    ).to.include({ code: 'slot_unknown' });
    expect(await auditOf(id)).to.deep.equal(['slot.add', 'slot.update']);
  });

  it('has the origins of shops, each as a browser sends it', async () => {
    const { name, id } = await addSlot(admin);
    const set = (...origins: string[]) => admin.client.updateSlot({ slot: name, returnOrigins: { origins } });
    const shops = ['https://shop.example.com', 'http://localhost:3000', 'https://[2001:db8::1]:8443'];
    expect((await set(...shops, ...shops)).slot?.returnOrigins).to.deep.equal(shops);
    expect(await set(...shops)).to.include({ unchanged: true });
    const { slot } = await admin.client.updateSlot({ slot: name, options: { receipt: 'mail' } });
    expect(slot?.returnOrigins).to.deep.equal(shops);
    for (const [origin, fix] of [
      ['https://shop.example.com/', 'scheme, host and port'],
      ['https://shop.example.com/paid?x=canary', 'scheme, host and port'],
      ['https://ada:canary@shop.example.com', 'scheme, host and port'],
      ['https://SHOP.example.com', 'https://shop.example.com'],
      ['https://shop.example.com:443', 'https://shop.example.com'],
      ['http://shop.example.com', 'use https'],
      ['http://127.0.0.1.shop.example.com', 'use https'],
      ['javascript:alert(1)', 'begins with https://'],
      ['shop.example.com', 'begins with https://'],
      ['*', 'begins with https://'],
      ['null', 'begins with https://'],
      ['', 'begins with https://'],
    ] as const) {
      const refused = await refusal(set('https://other.example.com', origin));
      expect(refused, origin).to.include({ code: 'return_origin_invalid', field: 'returnOrigins' });
      expect(refused.message)
        .to.contain(fix)
        .and.not.match(/canary/);
    }
    expect((await admin.client.getSlot({ slot: name })).slot?.returnOrigins).to.deep.equal(shops);
    expect((await set()).slot?.returnOrigins).to.deep.equal([]);
    const added = await admin.client.addSlot({ ...sandbox, name: 'returning', returnOrigins: shops });
    expect(added.slot?.returnOrigins).to.deep.equal(shops);
    const bad = admin.client.addSlot({ ...sandbox, name: 'never', returnOrigins: ['shop.example.com'] });
    expect(await refusal(bad)).to.include({ code: 'return_origin_invalid' });
    expect(await auditOf(id)).to.deep.equal(['slot.add', 'slot.update', 'slot.update', 'slot.update']);
    const [entry] = await query<{ before: object; after: object }>(
      admin.databaseUrl,
      "select before, after from audit_entry where action = 'slot.update' and detail->>'name' = $1 order by id limit 1",
      [name],
    );
    expect(entry).to.deep.equal({ before: { returnOrigins: [] }, after: { returnOrigins: shops } });
  });

  describe('when it is tested', () => {
    let provider: FakeProvider;
    before(async () => {
      provider = await startProvider(({ everything }) => ({
        body: everything.includes(CREDENTIALS.password) ? 'welcome' : 'go away',
      }));
    });
    after(() => provider.close());

    it('reports whether the provider accepts its credentials', async () => {
      const { name } = await addSlot(admin, { baseUrl: provider.url });
      const good = await admin.client.testSlot({ slot: name });
      expect(good).to.include({ ok: true, answered: true, detail: 'the till opened' });
      expect(good.durationMs).to.be.at.least(0);
      await admin.client.rotateSlotCredentials({ slot: name, credentials: NEW_CREDENTIALS });
      const bad = await admin.client.testSlot({ slot: name });
      expect(bad).to.include({ ok: false, answered: true, detail: 'the till does not know this password' });
    });

    it('reports a provider that does not answer as a result', async () => {
      const { name } = await addSlot(admin);
      const { ok, answered, detail } = await admin.client.testSlot({ slot: name });
      expect({ ok, answered }).to.deep.equal({ ok: false, answered: false });
      expect(detail).to.match(/^no answer from /);
    });
  });

  it('is read again for a session whose slot has another version', async () => {
    const { name } = await addSlot(admin);
    const passwordFor = async (id: string, version: string): Promise<unknown> => {
      const { access } = await admin.slotAccess.forSlot(id, () => {}, version);
      return access.credentials.reveal()['password'];
    };
    const { id, version } = await storedSlot(name);
    expect(await passwordFor(id, version)).to.equal(CREDENTIALS.password);
    await admin.client.rotateSlotCredentials({ slot: name, credentials: NEW_CREDENTIALS });
    // A session that was read before the rotation: the slot is not read.
    expect(await passwordFor(id, version)).to.equal(CREDENTIALS.password);
    expect(await passwordFor(id, (await storedSlot(name)).version)).to.equal(NEW_CREDENTIALS.password);
  });

  async function storedSlot(name: string): Promise<{ id: string; version: string }> {
    const text = 'select id, xmin::text as version from slot where name = $1';
    const [slot] = await query<{ id: string; version: string }>(admin.databaseUrl, text, [name]);
    return slot ?? expect.fail('no slot');
  }

  async function access(name: string) {
    return (await admin.slotAccess.forSlot((await storedSlot(name)).id, () => {})).access;
  }

  async function auditOf(slotId: string): Promise<string[]> {
    const entries = await query<{ action: string; detail: object }>(
      admin.databaseUrl,
      `select a.action, a.detail from audit_entry a join slot s on coalesce(a.detail->>'name', a.after->>'name') = s.name
       where s.id = $1 order by a.id`,
      [slotId],
    );
    expect(JSON.stringify(entries)).to.not.contain(CREDENTIALS.password);
    return entries.map(({ action }) => action);
  }
});
