// Templates of mails: their check, the language that is used, escaping, and previews.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { HubError } from '../../../../core/errors.ts';
import { BUILT_IN } from '../../../../core/mail/content/built-in-templates.ts';
import { checkTemplate } from '../../../../core/mail/content/check-template.ts';
import { fallbacksOf } from '../../../../core/mail/content/language.ts';
import { MailKind } from '../../../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../../../gen/hub/mail/v1/mail_service_pb.ts';
import { startHub } from '../../../support/hub/hub.ts';
import { createApp } from '../../../support/hub/license.ts';
import { refusalCode } from '../../../support/hub/refusal.ts';
import { blockOrder, buyAndPay } from '../../../support/hub/sales.ts';
import { isSent, type MailScene, startMailScene, untilMail } from '../mail-scene.ts';

const KEYS = '{{#licenses}}{{licenseKey}}{{/licenses}}';

describe('the check of a template', () => {
  /** The field at fault and the message; undefined if the template is valid. */
  const faultOf = (parts: { subject?: string; text?: string; html?: string }, kind = 'license' as const) => {
    try {
      checkTemplate(kind, { subject: 'Keys', text: KEYS, html: KEYS, ...parts });
      return undefined;
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      expect(error.code).to.equal('mail_template_invalid');
      return { field: error.field, message: error.message };
    }
  };

  it('accepts the built-in templates, and mails without HTML', () => {
    for (const kind of ['license', 'renewal', 'seats'] as const) checkTemplate(kind, BUILT_IN[kind]);
    expect(faultOf({ html: '' })).to.equal(undefined);
    expect(faultOf({ text: `{{! a comment }}{{^customerName}}Hello{{/customerName}}${KEYS}` })).to.equal(
      undefined,
    );
  });

  it('names the part, the problem and the fix', () => {
    const cases: [Parameters<typeof faultOf>[0], string, RegExp][] = [
      [
        { subject: '{{firstName}}' },
        'subject',
        /unknown placeholder {{firstName}}: there are customerName, /,
      ],
      [{ text: `{{constructor}}${KEYS}` }, 'text', /unknown placeholder {{constructor}}/],
      [{ text: `{{a.b}}${KEYS}` }, 'text', /unknown placeholder {{a\.b}}/],
      [{ text: `{{#licenses}}{{key}}{{/licenses}}` }, 'text', /unknown placeholder {{key}}.*licenseKey/],
      [{ text: 'Thank you' }, 'text', /has no {{licenseKey}}: write {{#licenses}}/],
      [{ html: '<p>Thank you</p>' }, 'html', /the HTML has no {{licenseKey}}/],
      [{ text: '{{licenseKey}}' }, 'text', /outside of the licenses: write {{#licenses}}{{licenseKey}}/],
      [{ subject: '{{licenseKey}}' }, 'subject', /outside of the licenses: omit it/],
      [{ text: `${KEYS}{{licenses}}` }, 'text', /uses {{licenses}} as a value/],
      [
        { html: `${KEYS}{{{customerName}}}` },
        'html',
        /write {{customerName}}, whose value HTML mails escape/,
      ],
      [{ html: `${KEYS}{{&customerName}}` }, 'html', /write {{customerName}}/],
      [{ text: `${KEYS}{{>header}}` }, 'text', /has {{>header}}: write placeholders and sections only/],
      [{ text: `${KEYS}{{#downloadUrl}}` }, 'text', /is not a template: .*close each section/],
      [{ text: `${KEYS}{{appName` }, 'text', /is not a template/],
      [{ text: `${KEYS}{{expiresOn}}` }, 'text', /unknown placeholder {{expiresOn}}/],
    ];
    for (const [parts, field, message] of cases) {
      const fault = faultOf(parts);
      expect(fault?.field, JSON.stringify(parts)).to.equal(field);
      expect(fault?.message, JSON.stringify(parts)).to.match(message);
    }
  });

  it('refuses other delimiters, which would hide placeholders', () => {
    expect(faultOf({ text: `${KEYS}{{=<% %>=}}<% nothing %>` })?.field).to.equal('text');
  });
});

describe('the language of a template', () => {
  it('falls back from the special to the general, and to English', () => {
    expect(fallbacksOf('bn-BD')).to.deep.equal(['bn-BD', 'bn', 'en']);
    expect(fallbacksOf('ZH-hant-tw')).to.deep.equal(['zh-Hant-TW', 'zh-Hant', 'zh', 'en']);
    expect(fallbacksOf('en-GB')).to.deep.equal(['en-GB', 'en']);
    expect(fallbacksOf('')).to.deep.equal(['en']);
    expect(fallbacksOf('not a tag!')).to.deep.equal(['en']);
  });
});

describe('the templates of an app', () => {
  let scene: MailScene;
  before(async () => {
    scene = await startMailScene();
  });
  after(() => scene.stop());

  const LICENSE = { kind: MailKind.LICENSE } as const;

  it('are used by language, and a preview equals the mail that is sent', async () => {
    const { mails, sales, server } = scene;
    const { app } = sales;
    for (const language of ['en', 'bn']) {
      const html = `<p lang="${language}">${KEYS} {{customerName}}</p>`;
      await mails.setMailTemplate({
        app,
        ...LICENSE,
        language,
        subject: `${language} {{appName}}`,
        text: KEYS,
        html,
      });
    }
    for (const [language, used] of [
      ['bn-BD', 'bn'],
      ['en-GB', 'en'],
      ['fr', 'en'],
      ['', 'en'],
    ] as const) {
      const { order } = await buyAndPay(sales, scene.pro, { language });
      await untilMail(scene, order.orderId, isSent, 'is sent');
      const preview = await mails.previewMail({ order: order.orderId });
      expect(preview.template).to.include({ language: used, builtIn: false });
      const sent = server.mails.at(-1);
      expect(sent?.headers.get('subject'))
        .to.equal(preview.subject)
        .and.match(new RegExp(`^${used} `));
      expect(sent?.text.trimEnd()).to.equal(preview.text);
      expect(sent?.html.trimEnd()).to.equal(preview.html);
    }
    await mails.removeMailTemplate({ app, ...LICENSE, language: 'bn' });
    await mails.removeMailTemplate({ app, ...LICENSE, language: 'en' });
    expect((await mails.getMailTemplate({ app, ...LICENSE, language: 'bn' })).template?.builtIn).to.equal(
      true,
    );
  });

  it('escape values in HTML, and keep lines of values out of the subject', async () => {
    const { mails, sales, server } = scene;
    const html = `<a title="{{customerName}}">${KEYS}</a>`;
    const subject = '{{customerName}}';
    await mails.setMailTemplate({
      app: sales.app,
      ...LICENSE,
      language: 'en',
      subject,
      text: `{{customerName}} ${KEYS}`,
      html,
    });
    const name = `<script>alert("1")</script> & "Ada" {{licenseKey}}`;
    const { order } = await buyAndPay(sales, scene.pro, { customer: { name, email: 'eve@example.com' } });
    await untilMail(scene, order.orderId, isSent, 'is sent');
    const sent = server.mails.at(-1);
    expect(sent?.text).to.contain(name);
    expect(sent?.headers.get('subject')).to.equal(name);
    expect(sent?.html).not.to.contain('<script>').and.not.contain('"Ada"');
    expect(sent?.html).to.contain('&lt;script&gt;');
    await mails.removeMailTemplate({ app: sales.app, ...LICENSE, language: 'en' });
  });

  it('are listed without bodies, and an equal one changes nothing', async () => {
    const { mails } = scene;
    const app = await createApp(scene.sales.payments.hub.admin);
    const template = { app, kind: MailKind.SEATS, language: 'EN-us', subject: 'Seats', text: 'More' };
    expect((await mails.setMailTemplate(template)).changed).to.equal(true);
    expect((await mails.setMailTemplate(template)).changed).to.equal(false);
    const { templates } = await mails.listMailTemplates({ app });
    expect(templates.map(({ language, subject, text }) => ({ language, subject, text }))).to.deep.equal([
      { language: 'en-US', subject: 'Seats', text: '' },
    ]);
    expect(await refusalCode(mails.setMailTemplate({ ...template, language: 'x!' }))).to.equal(
      'language_invalid',
    );
    expect(await refusalCode(mails.removeMailTemplate({ ...template, language: 'fr' }))).to.equal(
      'mail_template_unknown',
    );
  });

  it('mails every key of an order with several licenses', async () => {
    const { order } = await buyAndPay(scene.sales, scene.pro, { quantity: 3 });
    await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(scene.server.mails.at(-1)?.text.match(/^([0-9A-Z]{5}-){4}[0-9A-Z]{5}$/gm)).to.have.length(3);
  });

  it('can be previewed by a hub that sends no mail', async () => {
    const hub = await startHub();
    try {
      const mails = createClient(MailService, hub.transport);
      const app = await createApp(hub.admin);
      expect((await mails.previewMail({ app })).text).to.contain('SAMPL-EKEYX');
      expect(await refusalCode(mails.sendTestMail({ app, to: 'a@b.example' }))).to.equal(
        'mail_not_configured',
      );
      expect(await refusalCode(mails.previewMail({}))).to.equal('mail_preview_invalid');
    } finally {
      await hub.stop();
    }
  });

  it('are not used for an order that is blocked', async () => {
    const { orderId } = await blockOrder(scene.sales);
    expect(await refusalCode(scene.mails.previewMail({ order: orderId }))).to.equal('mail_not_renderable');
  });
});
