// What doctor says about the mail server.
import { expect } from 'chai';
import { checkMailServer } from '../../../cli/doctor/mail-check.ts';
import { readSettings } from '../../../cli/serve/settings.ts';
import { type MailServer, startMailServer } from '../../support/network/mail-server.ts';

describe('the check of the mail server', () => {
  let server: MailServer;
  before(async () => {
    server = await startMailServer({ login: { user: 'shop', password: 'pass-word' } });
  });
  after(() => server.close());

  const check = (smtpUrl: string) =>
    checkMailServer(readSettings({}, { HUB_SMTP_URL: smtpUrl, HUB_MAIL_FROM: 'shop@shop.example' }));

  it('logs in and sends nothing', async () => {
    expect(await check(`smtp://shop:pass-word@127.0.0.1:${server.port}`)).to.deep.equal([
      { check: 'mail server', state: 'ok', detail: `127.0.0.1:${server.port}` },
    ]);
    expect(server.mails).to.deep.equal([]);
  });

  it('says what is wrong, without the password', async () => {
    const [finding] = await check(`smtp://shop:wrong-word@127.0.0.1:${server.port}`);
    expect(finding?.state).to.equal('failed');
    expect(finding?.detail).to.contain('refuses the user or the password');
    expect(JSON.stringify(finding)).not.to.contain('wrong-word');
  });

  it('is left out for a hub that sends no mail', async () => {
    expect(await checkMailServer(readSettings({}, {}))).to.deep.equal([]);
  });
});
