// Signatures of webhooks, verified by the official library of Standard Webhooks.
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { createWebhookSecret, signatureHeaders } from '../../../../core/event/delivery/signature.ts';

const HOUR_MS = 60 * 60 * 1000;
const body = '{"type":"license.issued","data":{"name":"é"}}';

describe('the library of Standard Webhooks', () => {
  const [secret, old, other] = [createWebhookSecret(), createWebhookSecret(), createWebhookSecret()];
  const sign = (timestamp = new Date()) =>
    signatureHeaders({ id: 'evt_1', timestamp, body, secrets: [secret, old] });

  it('verifies a message by the new secret and by the old one', () => {
    for (const each of [secret, old]) {
      expect(new Webhook(each.reveal()).verify(body, { ...sign() })).to.deep.equal(JSON.parse(body));
    }
  });

  it('refuses another secret, body, id or time', () => {
    const webhook = new Webhook(secret.reveal());
    expect(() => new Webhook(other.reveal()).verify(body, { ...sign() })).to.throw('No matching signature');
    expect(() => webhook.verify(`${body} `, { ...sign() })).to.throw('No matching signature');
    const renamed = { ...sign(), 'webhook-id': 'evt_2' };
    expect(() => webhook.verify(body, renamed)).to.throw('No matching signature');
    const late = { ...sign(new Date(Date.now() - HOUR_MS)) };
    expect(() => webhook.verify(body, late)).to.throw('too old');
  });
});
