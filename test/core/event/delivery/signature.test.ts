// Signatures of webhooks, by the published vector of Standard Webhooks.
import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  checkWebhookSecret,
  createWebhookSecret,
  signatureHeaders,
} from '../../../../core/event/delivery/signature.ts';
import { Secret } from '../../../../core/secret.ts';

const secretOf = (bytes: number): Secret<string> =>
  new Secret(`whsec_${Buffer.alloc(bytes, 0xfb).toString('base64')}`);

describe('the signature of a webhook', () => {
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: new Date(1_614_265_330_999),
    body: '{"test": 2432232314}',
    secrets: [new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')],
  };
  const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

  it('is the one that the libraries of Standard Webhooks test', () => {
    expect(signatureHeaders(message)).to.deep.equal({
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': SIGNATURE,
    });
  });

  it('is the same for the bytes of the body', () => {
    const body = Buffer.from(message.body);
    expect(signatureHeaders({ ...message, body })['webhook-signature']).to.equal(SIGNATURE);
  });

  it('signs with each secret while one is replaced', () => {
    const secrets = [createWebhookSecret(), ...message.secrets];
    const signatures = signatureHeaders({ ...message, secrets })['webhook-signature'].split(' ');
    expect(signatures).to.have.length(2);
    expect(signatures[0])
      .to.match(/^v1,[\w+/]{43}=$/)
      .and.not.equal(SIGNATURE);
    expect(signatures[1]).to.equal(SIGNATURE);
  });
});

describe('the secret of a webhook', () => {
  it('is 32 random bytes', () => {
    const [one, other] = [createWebhookSecret(), createWebhookSecret()];
    expect(one.reveal()).to.match(/^whsec_[\w+/]{43}=$/);
    expect(one.reveal()).to.not.equal(other.reveal());
    expect(checkWebhookSecret(one)).to.equal(undefined);
    expect(inspect(one)).to.not.include('whsec_');
  });

  it('may have 24 to 64 bytes', () => {
    for (const bytes of [24, 32, 64]) expect(checkWebhookSecret(secretOf(bytes))).to.equal(undefined);
    for (const bytes of [0, 23, 65]) {
      expect(checkWebhookSecret(secretOf(bytes))).to.equal('must encode 24 to 64 bytes');
    }
  });

  const good = secretOf(32).reveal();
  const malformed = {
    'no prefix': good.slice(6),
    'another prefix': good.replace('whsec_', 'whsk_'),
    'no padding': good.replace('=', ''),
    'the alphabet of URLs': good.replaceAll('+', '-').replaceAll('/', '_'),
    'a space': good.replace('whsec_', 'whsec_ '),
    'a line feed': `${good}\n`,
  };
  for (const [what, text] of Object.entries(malformed)) {
    it(`is refused with ${what}, by a message without it`, () => {
      expect(checkWebhookSecret(new Secret(text))).to.equal('must be whsec_ and Base64 with padding');
    });
  }
});
