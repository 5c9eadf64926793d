// A hub that is killed or stopped while it sends a mail.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { systemClock } from '../../../../core/clock.ts';
import { MailState } from '../../../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../../../gen/hub/mail/v1/mail_service_pb.ts';
import { type HubProcess, spawnHub } from '../../../support/hub/hub-process.ts';
import { buyAndPay, createOffer, type Sales, startSales } from '../../../support/hub/sales.ts';
import { type MailServer, startMailServer } from '../../../support/network/mail-server.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('a hub that ends while it sends a mail', () => {
  let server: MailServer;
  let sales: Sales;
  let pro: string;
  const hubs: HubProcess[] = [];
  before(async () => {
    server = await startMailServer({ login: { user: 'shop', password: 'smtp-password' } });
    // This hub sells. Its first attempt fails, because no server listens there. The next one is due for the hubs of
    // the tests, and not for this hub, whose clock is an hour behind.
    const mailFrom = { name: '', address: 'shop@shop.example' };
    const clock = () => new Date(systemClock().getTime() - 3_600_000);
    sales = await startSales({ clock, settings: { smtpUrl: 'smtp://127.0.0.1:9', mailFrom } });
    pro = await createOffer(sales, 'pro');
  });
  afterEach(async () => {
    server.onMail = () => {};
    for (const hub of hubs.splice(0)) await hub.stop();
  });
  after(async () => {
    await sales.stop();
    await server.close();
  });

  const hub = () => sales.payments.hub;
  async function spawn(): Promise<HubProcess> {
    const spawned = await spawnHub({
      HUB_DATA_DIR: hub().dataDir,
      DATABASE_URL: hub().databaseUrl,
      HUB_SMTP_URL: `smtp://shop:smtp-password@127.0.0.1:${server.port}`,
      HUB_MAIL_FROM: 'shop@shop.example',
    });
    hubs.push(spawned);
    return spawned;
  }

  /** Buys, and returns the queued mail after the first attempt of the hub that sells. */
  async function buyMail(): Promise<string> {
    const { order } = await buyAndPay(sales, pro);
    const mails = createClient(MailService, hub().transport);
    let mailId = '';
    await until(async () => {
      const [mail] = (await mails.listMails({ order: order.orderId })).mails;
      mailId = mail?.mailId ?? '';
      return mail?.attempts === 1;
    }, 'the hub that sells has tried');
    return mailId;
  }

  const stateOf = async (mailId: string) =>
    (await createClient(MailService, hub().transport).getMail({ mailId })).mail?.state;
  it('sends a mail again with the same Message-ID if it was killed before it recorded the result', async () => {
    const mailId = await buyMail();
    const killed = Promise.withResolvers<HubProcess>();
    server.onMail = async () => {
      // The server has the mail, and the hub never learns it.
      (await killed.promise).child.kill('SIGKILL');
    };
    const first = await spawn();
    killed.resolve(first);
    await until(() => first.child.signalCode === 'SIGKILL', 'the hub is killed');
    await until(() => server.mails.length === 1, 'the server has stored the mail');
    expect(await stateOf(mailId)).to.equal(MailState.QUEUED);

    server.onMail = () => {};
    // The claim of the killed hub ends.
    await query(hub().databaseUrl, `update mail set next_attempt_at = now()`);
    await spawn();
    await until(async () => (await stateOf(mailId)) === MailState.SENT, 'the mail is sent', 20_000);
    const ids = server.mails.map(({ headers }) => headers.get('message-id'));
    expect(ids).to.have.length(2);
    expect(ids[0]).to.equal(ids[1]);
  });

  it('finishes the mail in progress when it stops', async () => {
    const before = server.mails.length;
    const mailId = await buyMail();
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    server.onMail = () => {
      arrived.resolve();
      return release.promise;
    };
    const stopping = await spawn();
    await arrived.promise;
    const stopped = stopping.stop();
    await until(() => stopping.lines.some((line) => /stop/i.test(line)), 'the hub is stopping');
    release.resolve();
    expect(await stopped).to.equal(0);
    expect(await stateOf(mailId)).to.equal(MailState.SENT);
    expect(server.mails).to.have.length(before + 1);
  });

  it('never logs the password of the mail server', async () => {
    const mailId = await buyMail();
    server.refuse('recipient', { code: 550, message: 'no' });
    const running = await spawn();
    await until(async () => (await stateOf(mailId)) === MailState.FAILED, 'the mail failed');
    await running.stop();
    expect(running.lines.join('\n') + running.complaints()).not.to.contain('smtp-password');
  });
});
