import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { pino } from 'pino';
import { driverOf } from '../../../core/payment/providers/registry.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { createCanaries, dumpOf } from '../../support/hub/canaries.ts';
import { type PaymentAdmin, startPaymentAdmin } from './payment-admin.ts';
import { type FakeProvider, startProvider } from './providers/fake-provider.ts';

const GATEWAYS = {
  gateway_one: ['storeId', 'storePassword'],
  gateway_two: ['username', 'password', 'appKey', 'appSecret'],
};

describe('the secrets of a payment slot', () => {
  const { make: canary, found } = createCanaries();
  let admin: PaymentAdmin;
  let provider: FakeProvider;
  let log: PassThrough;
  let token: string;
  /** Everything the hub has said to callers. */
  let answers: string[];

  before(async () => {
    log = new PassThrough();
    answers = [];
    token = canary();
    // Hostile providers: they repeat secrets in errors, in HTML, and in valid responses.
    provider = await startProvider(({ path, everything }) => {
      if (path.includes('granting')) return { body: JSON.stringify({ id_token: token, expires_in: 3_600 }) };
      if (path.includes('html')) return { status: 500, body: `<html>${everything}</html>` };
      const complaint = { APIConnect: everything, failedreason: everything, message: everything };
      return {
        status: path.includes('forbidding') ? 403 : 200,
        body: JSON.stringify({
          ...complaint,
          statusCode: '2001',
          statusMessage: everything,
          errorMessage: everything,
        }),
      };
    });
    admin = await startPaymentAdmin({ driverOf, logger: pino({ level: 'trace' }, log) });
  });
  after(() => provider.close());

  it('never appear in a response, a log line or a table', async () => {
    const { client } = admin;
    for (const [gateway, names] of Object.entries(GATEWAYS)) {
      const credentials = () => Object.fromEntries(names.map((name) => [name, canary()]));
      for (const mood of ['granting', 'complaining', 'forbidding', 'html']) {
        const name = `${gateway.replace('_', '-')}-${mood}`;
        const slot = {
          name,
          gateway,
          environment: SlotEnvironment.SANDBOX,
          baseUrl: `${provider.url}/${mood}`,
          credentials: credentials(),
        };
        await said(client.addSlot(slot));
        await said(client.addSlot(slot));
        await said(client.testSlot({ slot: name }));
        await said(client.rotateSlotCredentials({ slot: name, credentials: credentials() }));
        await said(client.testSlot({ slot: name }));
        await said(
          client.rotateSlotCredentials({ slot: name, credentials: { ...credentials(), extra: canary() } }),
        );
        await said(
          client.rotateSlotCredentials({ slot: name, credentials: { storeId: canary().repeat(60) } }),
        );
        await said(client.addSlot({ ...slot, name: 'No Slug' }));
        await said(
          client.addSlot({ ...slot, name: 'other', baseUrl: `https://ada:${canary()}@pay.example` }),
        );
        await said(client.addSlot({ ...slot, name: 'other', options: { colour: 'red' } }));
        await said(client.setSlotDisabled({ slot: name, disabled: true }));
        await said(client.getSlot({ slot: name }));
      }
    }
    await said(client.listSlots({}));
    await said(client.reencryptSecrets({}));
    const dump = await dumpOf(admin.databaseUrl);
    await admin.stop();
    log.end();
    const logged = await text(log);

    // The search itself works: it finds the secrets in the providers' requests and in a dump of them.
    const heard = provider.heard.map(({ everything }) => everything).join('\n');
    expect(found(heard)).to.have.length.at.least(12);
    expect(
      found(JSON.stringify({ bytea: `\\x${Buffer.from(heard).toString('hex')}` })),
    ).to.have.length.at.least(12);
    expect(found(Buffer.from(heard).toString('base64'))).to.have.length.at.least(12);
    expect(dump).to.contain('slot.rotate').and.contain('gateway-two-html').and.contain('sealed_token');
    expect(logged).to.contain('RotateSlotCredentials');
    expect(answers.join('\n')).to.contain('credentials_invalid').and.contain('***');

    expect(found(dump), 'the database').to.deep.equal([]);
    expect(found(logged), 'the log').to.deep.equal([]);
    expect(found(answers.join('\n')), 'the answers').to.deep.equal([]);
  });

  /** Keeps all that a caller gets to see, refusals too. */
  async function said(call: Promise<unknown>): Promise<void> {
    const answer = await call.catch((thrown) => {
      const { code, message, details } = ConnectError.from(thrown);
      return { code, message, details: details.map((detail) => detail.value) };
    });
    answers.push(JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
  }
});
