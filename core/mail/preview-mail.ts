// Renders mails that are not sent: previews, and the sample of a test mail.
import { HubError } from '../errors.ts';
import { findApp } from '../license/admin/find-app.ts';
import { findOrder } from '../order/orders/read-orders.ts';
import type { Database } from '../storage/database.ts';
import type { Compose } from './content/compose-mail.ts';
import { parseLanguage } from './content/language.ts';
import type { Content } from './content/placeholder-values.ts';
import { render } from './content/render-mail.ts';
import { sampleValues } from './content/sample-data.ts';
import { type EffectiveTemplate, findTemplate, type TemplateRef } from './content/templates.ts';

export type Preview = {
  /** Slug. */
  readonly app: string;
  readonly content: Content;
  readonly template: EffectiveTemplate;
};

export type Previews = ReturnType<typeof createPreviews>;

export function createPreviews({ db, compose }: { readonly db: Database; readonly compose: Compose }) {
  return {
    /** @throws HubError `app_unknown`, `language_invalid` */
    async ofSample({ app: slug, kind, language }: TemplateRef): Promise<Preview> {
      const em = db.em();
      const app = await findApp(em, slug);
      const template = await findTemplate(em, app.id, { kind, language: parseLanguage(language) });
      return { app: slug, template, content: render(template, sampleValues(kind, app.name)) };
    },

    /**
     * @param order `ord_…` or `chs_…`
     * @param language empty means that of the session
     * @throws HubError `order_unknown`, `language_invalid`, `mail_not_renderable`
     */
    async ofOrder(order: string, language: string): Promise<Preview> {
      const chosen = language === '' ? undefined : parseLanguage(language);
      const { id, app } = await findOrder(db.pool, order);
      const composed = await compose(id, chosen);
      if ('problem' in composed) {
        const message = `there is no mail to preview: ${composed.problem}`;
        throw new HubError('mail_not_renderable', message, { field: 'order' });
      }
      return { app, template: composed.template, content: composed.content };
    },
  };
}
