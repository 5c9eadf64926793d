// Whole numbers in JSON: decimal digits, whatever protocol and compression they come by.
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';

const CREATE = 'hub.payment.v1.PaymentService/CreateChargeSession';
const ISSUE = 'hub.license.v1.LicenseAdminService/IssueLicenses';

describe('a 64-bit number in a JSON request', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  const send = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`${hub.rpcUrl}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${hub.token}`, ...headers },
      body,
    });
  const refusalOf = async (path: string, request: object): Promise<string> => {
    const answer = await send(path, JSON.stringify(request));
    const { code, message } = (await answer.json()) as Record<string, string>; // an error of Connect
    return `${answer.status} ${code}: ${message}`;
  };
  const charge = (minorUnits: unknown) => ({ slot: 'none', amount: { minorUnits, currency: 'BDT' } });
  const WRONG = '400 invalid_argument: amount.minorUnits must be a whole number in decimal digits';

  it('is refused with its field if it is not decimal digits', async () => {
    for (const text of ['0x1', '0b1', '0o7', '', ' 1', '1 ', '+1', '1e3', '1.0', '1n']) {
      expect(await refusalOf(CREATE, charge(text)), JSON.stringify(text)).to.equal(WRONG);
    }
    expect(await refusalOf(CREATE, { amount: { minor_units: '0x1' } })).to.contain('amount.minor_units must');
    expect(await refusalOf(ISSUE, { app: 'none', limits: { projects: '0x1' } })).to.contain(
      'limits.projects must',
    );
  });

  it('is accepted as digits and as a number', async () => {
    for (const good of ['100', 100, '0100']) {
      expect(await refusalOf(CREATE, charge(good)), JSON.stringify(good)).to.contain('404 not_found');
    }
    expect(await refusalOf(CREATE, charge('-1'))).to.contain('an amount must be');
  });

  it('is refused in a compressed request, and in an envelope of gRPC-Web', async () => {
    const json = JSON.stringify(charge('0x1'));
    const compressed = await send(CREATE, new Uint8Array(gzipSync(json)), { 'content-encoding': 'gzip' });
    expect([compressed.status, await compressed.text()].join(' ')).to.contain('decimal digits');

    const envelope = Buffer.alloc(5 + json.length);
    envelope.writeUInt32BE(json.length, 1);
    envelope.write(json, 5);
    const enveloped = await send(CREATE, new Uint8Array(envelope), {
      'content-type': 'application/grpc-web+json',
    });
    expect(
      (await enveloped.text()) + decodeURIComponent(enveloped.headers.get('grpc-message') ?? ''),
    ).to.match(/decimal(%20| )digits/);
  });

  it('is not checked for an unauthorized caller', async () => {
    const answer = await send(CREATE, JSON.stringify(charge('0x1')), { authorization: 'Bearer wrong' });
    expect(answer.status).to.equal(401);
  });
});
