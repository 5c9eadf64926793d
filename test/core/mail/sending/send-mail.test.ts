// Sending over SMTP: TLS, login, refusals, and servers that do not answer.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { createMailer, type MailConfig, type Mailer } from '../../../../core/mail/sending/send-mail.ts';
import { parseMailFrom } from '../../../../core/mail/sending/smtp-address.ts';
import { Secret } from '../../../../core/secret.ts';
import { type Certificates, type Issuer, makeCertificates } from '../../../support/network/certificates.ts';
import {
  type MailServer,
  type MailServerOptions,
  startMailServer,
} from '../../../support/network/mail-server.ts';

const MAIL = {
  to: { name: 'Ada Lovelace', address: 'ada@example.com' },
  subject: 'Your key',
  text: 'Hello Ada\n',
  html: '<p>Hello Ada</p>',
  messageId: 'one@shop.example',
};
const LOGIN = { user: 'shop', password: 'pass word/@:%' };

describe('a mailer', () => {
  let certificates: Certificates;
  let issuer: Issuer;
  const opened: (() => unknown)[] = [];
  before(async () => {
    certificates = await makeCertificates();
    issuer = await certificates.createIssuer('mail-ca');
  });
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  after(() => certificates.remove());

  async function start(options: MailServerOptions = {}): Promise<MailServer> {
    const server = await startMailServer(options);
    opened.push(() => server.close());
    return server;
  }

  /** @param address what follows the scheme; `PORT` becomes the port of the server */
  function mailerTo(smtpUrl: string, more: Partial<MailConfig> & { timeoutMs?: number } = {}): Mailer {
    const { timeoutMs = 5_000, ...config } = more;
    const from = parseMailFrom('The Shop <shop@shop.example>');
    const mailer = createMailer({ config: { smtpUrl: new Secret(smtpUrl), from, ...config }, timeoutMs });
    opened.push(() => mailer.close());
    return mailer;
  }

  const login = `${encodeURIComponent(LOGIN.user)}:${encodeURIComponent(LOGIN.password)}`;

  it('upgrades to TLS before it logs in, and checks the certificate', async () => {
    const certificate = await issuer.issue('/CN=mail');
    const { port, mails } = await start({ certificate, login: LOGIN });
    const url = `smtp://${login}@localhost:${port}?tls=required`;
    expect(await mailerTo(url, { caFile: issuer.ca }).send(MAIL)).to.deep.equal({
      kind: 'sent',
      response: '250 accepted',
    });
    expect(mails[0]).to.include({ encrypted: true, user: LOGIN.user, text: 'Hello Ada\n' });
    const untrusted = await mailerTo(url).send(MAIL);
    expect(untrusted).to.deep.include({
      kind: 'deferred',
      problem: 'the certificate of the mail server is not trusted',
    });
    expect(mails).to.have.length(1);
  });

  it('speaks TLS from the start with smtps://', async () => {
    const certificate = await issuer.issue('/CN=mail');
    const { port, mails } = await start({ certificate, implicitTls: true, login: LOGIN });
    const result = await mailerTo(`smtps://${login}@127.0.0.1:${port}`, { caFile: issuer.ca }).send(MAIL);
    expect(result.kind).to.equal('sent');
    expect(mails[0]?.encrypted).to.equal(true);
  });

  it('sends nothing to a server without STARTTLS that has to have it', async () => {
    const { port, mails } = await start({ login: LOGIN });
    const result = await mailerTo(`smtp://${login}@127.0.0.1:${port}?tls=required`).send(MAIL);
    expect(result).to.deep.include({
      kind: 'deferred',
      problem: 'the mail server does not offer TLS, or its certificate is not trusted',
    });
    expect(mails).to.deep.equal([]);
  });

  it('tries again after a wrong password, and does not show it', async () => {
    const { port } = await start({ login: LOGIN });
    const mailer = mailerTo(`smtp://shop:wrong-password@127.0.0.1:${port}`);
    const result = await mailer.send(MAIL);
    expect(result).to.deep.include({
      kind: 'deferred',
      problem: 'the mail server refuses the user or the password of HUB_SMTP_URL',
    });
    expect(JSON.stringify(result)).to.contain('535').and.not.contain('wrong-password');
    const error = await mailer.verify().catch((thrown: Error) => thrown.message);
    expect(error).to.contain('refuses the user or the password').and.not.contain('wrong-password');
  });

  it('verifies a server that it can use', async () => {
    const { port, mails } = await start({ login: LOGIN });
    await mailerTo(`smtp://${login}@127.0.0.1:${port}`).verify();
    expect(mails).to.deep.equal([]);
  });

  it('tells mails that the server refuses for good from those that it may accept later', async () => {
    const server = await start();
    const mailer = mailerTo(`smtp://127.0.0.1:${server.port}`);
    const sent: [Parameters<MailServer['refuse']>[0], number, string][] = [
      ['recipient', 550, 'refused'],
      ['recipient', 450, 'deferred'],
      ['content', 552, 'refused'],
      ['content', 451, 'deferred'],
      // About the server or the configuration, not about the mail.
      ['greeting', 554, 'deferred'],
      ['greeting', 421, 'deferred'],
    ];
    for (const [stage, code, kind] of sent) {
      server.refuse(stage, { code, message: `no: <ADA@example.com>, ada` });
      // A new connection is greeted.
      const result = await (stage === 'greeting' ? mailerTo(`smtp://127.0.0.1:${server.port}`) : mailer).send(
        MAIL,
      );
      expect(result.kind, `${stage} ${code}`).to.equal(kind);
      expect(result, `${stage} ${code}`).to.include({ response: `${code} no: <[address]>, [address]` });
    }
    expect((await mailer.send(MAIL)).kind).to.equal('sent');
    expect(server.mails).to.have.length(1);
  });

  it('keeps no name of the recipient from the answer of a server', async () => {
    const server = await start();
    const mailer = mailerTo(`smtp://127.0.0.1:${server.port}`);
    const answers: [name: string, message: string, kept: string][] = [
      ['Ada Lovelace', 'no box of ADA LOVELACE; Lovelace, lovelaces', 'no box of [name]; [name], lovelaces'],
      ['Ann (1+1)', 'cannot reach ann (1+1)', 'cannot reach [name]'],
      ['A B', 'a b is a box', '[name] is a box'],
      ['\u674e\u660e', 'no: \u6ca1\u6709\u674e\u660e\u3002', 'no: \u6ca1\u6709[name]\u3002'],
      ['\u674e\u660e', 'bad header To: =?UTF-8?B?5p2O5piO?=', 'bad header To: [name]'],
      ['', 'no such box', 'no such box'],
    ];
    for (const [name, message, kept] of answers) {
      server.refuse('recipient', { code: 550, message });
      const result = await mailer.send({ ...MAIL, to: { name, address: 'grace@example.com' } });
      expect(result, name).to.include({ kind: 'refused', response: `550 ${kept}` });
    }
  });

  it('gives up on a server that does not answer, and continues with others', async () => {
    const sockets: Socket[] = [];
    const hanging: Server = createServer((socket) => {
      sockets.push(socket);
      // A line of a greeting every moment, and never its end: the connection is not idle.
      const timer = setInterval(() => socket.write('220-please wait\r\n'), 50);
      socket.on('close', () => clearInterval(timer)).on('error', () => {});
    });
    hanging.listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    opened.push(() => hanging.close());
    const { port } = hanging.address() as AddressInfo;
    const mailer = mailerTo(`smtp://127.0.0.1:${port}`, { timeoutMs: 400 });
    const started = performance.now();
    const results = await Promise.all(Array.from({ length: 8 }, () => mailer.send(MAIL)));
    expect(performance.now() - started).to.be.below(3_000);
    for (const result of results) {
      expect(result).to.include({ kind: 'deferred', response: '' });
      // The limit of the mail and that of the connection are the same: on a busy machine either ends first.
      expect('problem' in result && result.problem).to.be.oneOf([
        'the mail was not accepted within 0.4 seconds',
        'the mail server does not answer in time',
      ]);
    }
    expect(sockets.length).to.be.within(1, 8);
    await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
  });

  it('names a server that refuses connections or does not exist', async () => {
    const { port, close } = await startMailServer();
    await close();
    const refused = await mailerTo(`smtp://127.0.0.1:${port}`).send(MAIL);
    expect(refused).to.deep.include({ kind: 'deferred', problem: 'the mail server refuses connections' });
    const unknown = await mailerTo('smtp://mail.invalid').send(MAIL);
    expect(unknown).to.deep.include({
      kind: 'deferred',
      problem: 'the name of the mail server does not resolve',
    });
  });

  it('opens at most four connections', async () => {
    const server = await start();
    const mailer = mailerTo(`smtp://127.0.0.1:${server.port}`);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => mailer.send({ ...MAIL, messageId: `${index}@x` })),
    );
    expect(server.mails).to.have.length(20);
    expect(server.connections()).to.be.at.most(4);
  });

  it('keeps values from becoming headers or recipients', async () => {
    const { port, mails } = await start();
    const mailer = mailerTo(`smtp://127.0.0.1:${port}`);
    const name = 'Ada\r\nBcc: eve@example.com\r\n';
    await mailer.send({
      ...MAIL,
      subject: 'Hi\r\nBcc: eve@example.com',
      to: { name, address: 'ada@example.com' },
    });
    expect(mails[0]?.to).to.deep.equal(['ada@example.com']);
    expect(mails[0]?.headers.has('bcc')).to.equal(false);
    expect(mails[0]?.headers.get('subject')).to.equal('Hi Bcc: eve@example.com');
    for (const address of [
      'ada@example.com,eve@example.com',
      'ada@example.com>, <eve@example.com',
      '"ada@evil.example x"@example.com',
      'ada@example.com\r\nRCPT TO:<eve@example.com>',
      'ada',
      '',
    ]) {
      expect((await mailer.send({ ...MAIL, to: { name: '', address } })).kind, address).to.equal('refused');
    }
    expect(mails).to.have.length(1);
  });

  it('writes names and subjects of any script', async () => {
    const { port, mails } = await start();
    const to = { name: 'আদা লাভলেস', address: 'ada@example.com' };
    await mailerTo(`smtp://127.0.0.1:${port}`).send({ ...MAIL, to, subject: 'আপনার কী', html: '' });
    expect(mails[0]?.headers.get('to')).to.equal('আদা লাভলেস <ada@example.com>');
    expect(mails[0]?.headers.get('subject')).to.equal('আপনার কী');
    expect(mails[0]?.html).to.equal('');
  });
});
