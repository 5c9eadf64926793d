// The commands of mails and their templates.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  isFailed,
  isSent,
  type MailScene,
  startMailScene,
  untilMail,
} from '../../../core/mail/mail-scene.ts';
import { buyAndPay } from '../../../support/hub/sales.ts';
import { expectPrinted } from '../../expect-schema.ts';
import { runHere } from '../../run-here.ts';

describe('hubctl mail', () => {
  let scene: MailScene;
  let files: string;
  before(async () => {
    scene = await startMailScene();
    files = await mkdtemp(join(tmpdir(), 'hub-mail-'));
  });
  after(async () => {
    await scene.stop();
    await rm(files, { recursive: true });
  });

  const run = (words: readonly string[]) => runHere(words, scene.sales.payments.hub);
  /** What a command prints, as its manual describes it. */
  const json = async (line: string, ...more: string[]) => {
    const words = [...line.split(' '), ...more];
    const { code, stdout, stderr } = await run([...words, '--output', 'json']);
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    expectPrinted(words.slice(0, 2).join(' '), JSON.parse(stdout));
    return JSON.parse(stdout);
  };
  const refusal = async (line: string, ...more: string[]) => {
    const { code, stderr } = await run([...line.split(' '), ...more]);
    return { code, stderr };
  };

  it('lists, shows and resends mails', async () => {
    const { order } = await buyAndPay(scene.sales, scene.pro);
    const { mailId } = await untilMail(scene, order.orderId, isSent, 'is sent');
    const app = scene.sales.app;
    const shown = await json(`mail show ${mailId}`);
    expect(shown).to.include({
      mailId,
      orderId: order.orderId,
      state: 'sent',
      kind: 'license',
      app,
      attempts: 1,
    });
    expect(await json(`mail list --app ${app} --state sent --order-id ${order.orderId}`)).to.deep.equal([
      shown,
    ]);
    expect(await json('mail list --state failed')).to.deep.equal([]);
    const { stdout } = await run(['mail', 'list']);
    expect(stdout)
      .to.match(/^MAIL +STATE +KIND/)
      .and.contain(mailId);
    const csv = await run(['mail', 'list', '--format', 'csv']);
    expect(csv.stdout)
      .to.match(/^mailId,state,/)
      .and.contain(`${mailId},sent,license`);

    const before = scene.server.mails.length;
    expect(await json(`mail resend ${mailId}`)).to.include({ mailId, state: 'queued', attempts: 0 });
    const again = await untilMail(scene, order.orderId, isSent, 'is sent again');
    expect(scene.server.mails).to.have.length(before + 1);
    expect(again.messageId).not.to.equal(shown.messageId);
    expect((await refusal('mail show mal_01k8e7qk3vf2tb5s0w9m4x6ydz')).code).to.equal(1);
    expect((await refusal(`mail show ${order.orderId}`)).stderr).to.contain('this is the id of');
  });

  it('previews mails and sends test mails', async () => {
    const { app } = scene.sales;
    const sample = await json(`mail preview --app ${app} --kind renewal`);
    expect(sample.template).to.include({ kind: 'renewal', language: 'en', builtIn: true });
    expect(sample.text).to.contain('It is valid until 2027-12-31.');
    const { stdout } = await run(['mail', 'preview', '--app', app]);
    expect(stdout)
      .to.match(/^Subject: Your license key for /)
      .and.contain('SAMPL-EKEYX-00000-00000-00000');
    const html = await run(['mail', 'preview', '--app', app, '--html']);
    expect(html.stdout).to.match(/^<!doctype html>/);
    expect(await refusal('mail preview')).to.include({ code: 2 });

    expect(await json(`mail test you@example.com --app ${app}`)).to.include({ sent: true });
    expect(scene.server.mails.at(-1)?.headers.get('subject')).to.match(/^\[Test\] Your license key/);
    scene.server.refuse('recipient', { code: 550, message: 'no such user: you@example.com' });
    const { code, stderr } = await refusal(`mail test you@example.com --app ${app}`);
    expect(code).to.equal(1);
    expect(stderr).to.contain('the mail server refuses the mail');
  });

  it('sets, shows, lists and removes templates', async () => {
    const { app } = scene.sales;
    const [text, html, wrong] = ['license.txt', 'license.html', 'wrong.txt'].map((name) => join(files, name));
    await writeFile(text ?? '', 'কী: {{#licenses}}{{licenseKey}}{{/licenses}}\n');
    await writeFile(html ?? '', '<p>{{#licenses}}{{licenseKey}}{{/licenses}}</p>');
    await writeFile(wrong ?? '', 'Hello {{firstName}}');
    const set = `mail set-template ${app} license --subject-line {{appName}}`;
    const made = await json(`${set} --language BN-bd --text-file ${text} --html-file ${html}`);
    expect(made).to.include({
      app,
      kind: 'license',
      language: 'bn-BD',
      subject: '{{appName}}',
      builtIn: false,
    });
    expect(await json(`mail show-template ${app} license --language bn-BD`)).to.deep.equal(made);
    expect((await json(`mail show-template ${app} license`)).builtIn).to.equal(true);
    expect(await json(`mail list-templates ${app}`)).to.have.length(1);
    expect((await json(`mail preview --app ${app} --language bn-BD`)).text).to.contain('কী: SAMPL-');

    const refused = await refusal(`${set} --language en --text-file ${wrong}`);
    expect(refused.stderr).to.contain('--text-file').and.contain('{{firstName}}').and.contain('customerName');
    expect((await refusal(`${set} --language en --text-file ${files}/none`)).code).to.equal(2);
    expect((await refusal(`${set} --language english! --text-file ${text}`)).stderr).to.contain('BCP 47');

    await json(`mail remove-template ${app} license --language bn-BD --yes`);
    expect(await json(`mail list-templates ${app}`)).to.deep.equal([]);
    expect((await refusal(`mail remove-template ${app} license --language bn-BD --yes`)).code).to.equal(1);
  });

  it('shows why a mail failed', async () => {
    scene.server.refuse('recipient', { code: 550, message: 'no mailbox ada@example.com here, ada' });
    const { order } = await buyAndPay(scene.sales, scene.pro);
    const { mailId } = await untilMail(scene, order.orderId, isFailed, 'is failed');
    const { stdout } = await run(['mail', 'show', mailId]);
    expect(stdout).to.contain('the mail server refuses the mail');
    expect(stdout).to.contain('550 no mailbox [address] here, [address]').and.not.contain('example.com here');
  });
});
