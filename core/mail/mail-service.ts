// MailService: lists mails, sends them again, and manages templates.
import type { ServiceImpl } from '@connectrpc/connect';
import type { MailService } from '../../gen/hub/mail/v1/mail_service_pb.ts';
import { MAIL_STATES, nameOf } from '../../lib/presentation/enum-names.ts';
import { actorOf } from '../access/caller.ts';
import { HubError } from '../errors.ts';
import type { Compose } from './content/compose-mail.ts';
import { createTemplates } from './content/templates.ts';
import type { Mails } from './mail-admin.ts';
import { mailKindFromProto, mailToProto, templateHeadToProto, templateToProto } from './messages.ts';
import { createPreviews } from './preview-mail.ts';
import { createSendTest, type SendTestOptions } from './test-mail.ts';

export type MailServiceOptions = Omit<SendTestOptions, 'previews'> & {
  readonly mails: Mails;
  readonly compose: Compose;
};

export function createMailService(options: MailServiceOptions): ServiceImpl<typeof MailService> {
  const { mails } = options;
  const templates = createTemplates(options);
  const previews = createPreviews(options);
  const sendTest = createSendTest({ ...options, previews });
  return {
    async listMails(request) {
      const filter = { ...request, state: nameOf(MAIL_STATES, request.state) };
      const { items, nextPageToken } = await mails.list(filter, request);
      return { mails: items.map(mailToProto), nextPageToken };
    },

    async getMail({ mailId }) {
      return { mail: mailToProto(await mails.get(mailId)) };
    },

    async resendMail({ mailId }, context) {
      return { mail: mailToProto(await mails.resend(mailId, actorOf(context))) };
    },

    async previewMail({ order, app, kind, language }) {
      if ((order === undefined) === (app === undefined)) {
        const message = 'give either the order, or the app for a mail of sample data';
        throw new HubError('mail_preview_invalid', message, { field: 'order' });
      }
      const preview =
        order === undefined
          ? await previews.ofSample({ app: app ?? '', kind: mailKindFromProto(kind), language })
          : await previews.ofOrder(order, language);
      return { ...preview.content, template: templateHeadToProto(preview.app, preview.template) };
    },

    async sendTestMail({ to, app, kind, language }, context) {
      const ref = { app, kind: mailKindFromProto(kind), language };
      return sendTest(to, ref, actorOf(context));
    },

    async setMailTemplate({ app, kind, language, subject, text, html }, context) {
      const ref = { app, kind: mailKindFromProto(kind), language };
      const [template, changed] = await templates.set(ref, { subject, text, html }, actorOf(context));
      return { template: templateToProto(app, template), changed };
    },

    async getMailTemplate({ app, kind, language }) {
      const template = await templates.get({ app, kind: mailKindFromProto(kind), language });
      return { template: templateToProto(app, template) };
    },

    async listMailTemplates({ app }) {
      const found = await templates.list(app);
      return { templates: found.map((template) => templateHeadToProto(app, template)) };
    },

    async removeMailTemplate({ app, kind, language }, context) {
      await templates.remove({ app, kind: mailKindFromProto(kind), language }, actorOf(context));
      return {};
    },
  };
}
