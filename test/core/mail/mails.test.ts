// The hub mails the customers of fulfilled orders.
import { expect } from 'chai';
import { MailKind } from '../../../gen/hub/mail/v1/mail_pb.ts';
import { buyAndPay } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { isSent, type MailScene, startMailScene, untilMail } from './mail-scene.ts';

describe('mails to customers', () => {
  let scene: MailScene;
  before(async () => {
    scene = await startMailScene();
  });
  after(() => scene.stop());

  it('have the license key as text and HTML, and the key activates', async () => {
    const { sales, server } = scene;
    const { order, session, claimToken } = await buyAndPay(sales, scene.pro);
    const mail = await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(mail).to.deep.include({ kind: MailKind.LICENSE, attempts: 1, app: sales.app, problem: '' });
    expect(mail.smtpResponse).to.match(/^250 /);

    const [received] = server.mails;
    expect(received?.to).to.deep.equal(['ada@example.com']);
    expect(received?.from).to.equal('shop@shop.example');
    expect(received?.headers.get('to')).to.equal('Ada Lovelace <ada@example.com>');
    expect(received?.headers.get('from')).to.equal('The Shop <shop@shop.example>');
    expect(received?.headers.get('message-id')).to.equal(`<${mail.messageId}>`);
    expect(received?.headers.get('auto-submitted')).to.equal('auto-generated');
    expect(received?.text)
      .to.contain('Hello Ada Lovelace,')
      .and.contain(order.orderId)
      .and.contain('100.00 BDT');
    expect(received?.html).to.contain('href="https:&#x2F;&#x2F;shop.example&#x2F;download"');

    const { licenses } = await sales.orders.getClaimedOrder({ sessionId: session.sessionId, claimToken });
    const key = licenses[0]?.licenseKey ?? '';
    expect(key).to.match(/^([0-9A-Z]{5}-){4}[0-9A-Z]{5}$/);
    expect(received?.text).to.contain(key);
    expect(received?.html).to.contain(key);
    expect((await activate(sales.payments.hub.gatewayUrl, key, 'machine')).status).to.equal(200);
  });
});
