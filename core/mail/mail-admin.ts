// Lists mails, and sends them again.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import type { ListMailsRequest } from '../../gen/hub/mail/v1/mail_service_pb.ts';
import type { Actor } from '../access/caller.ts';
import { HubError } from '../errors.ts';
import { findApp } from '../license/admin/find-app.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { findOrder } from '../order/orders/read-orders.ts';
import { findById } from '../storage/sql/find-by-id.ts';
import { findPage, type Page, type PageRequest } from '../storage/sql/page.ts';
import { type Mail, MailSchema, type MailStateName } from './entities.ts';
import { requeueMail } from './requeue-mail.ts';

export type MailFilter = Pick<ListMailsRequest, 'app' | 'order'> & {
  readonly state: MailStateName | undefined;
};

export type MailsOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  /** The domain of new Message-IDs; undefined if the hub sends no mail. */
  readonly domain: string | undefined;
  readonly onDue: () => void;
};

export type Mails = ReturnType<typeof createMails>;

export function createMails({ db, clock, domain, onDue }: MailsOptions) {
  return {
    /** @throws HubError `mail_unknown` */
    get: (mailId: string): Promise<Mail> => findMail(db.em(), mailId),

    /** Newest first. @throws HubError `app_unknown`, `order_unknown`, `page_token_invalid` */
    async list({ app, order, state }: MailFilter, request: PageRequest): Promise<Page<Mail>> {
      const em = db.em();
      const where: FilterQuery<Mail>[] = [];
      if (app !== undefined) where.push({ app: await findApp(em, app) });
      if (order !== undefined) where.push({ order: (await findOrder(db.pool, order)).id });
      if (state !== undefined) where.push({ state });
      // mail_app_idx, mail_order_id_key, mail_queued_idx, mail_failed_id_idx, mail_pkey
      return findPage({ em, entity: MailSchema, prefix: 'mal', where, populate: ['app'] }, request);
    },

    /** Makes a mail due. @throws HubError `mail_unknown`, `mail_not_configured`, `customer_erased` */
    async resend(mailId: string, actor: Actor): Promise<Mail> {
      if (domain === undefined) throw mailNotConfigured();
      const { id } = await findMail(db.em(), mailId);
      await requeueMail(db.pool, { id, actor, clock, domain });
      onDue();
      return findMail(db.em(), mailId);
    },
  };
}

export function mailNotConfigured(): HubError {
  return new HubError('mail_not_configured', 'this hub sends no mail: set HUB_SMTP_URL and HUB_MAIL_FROM');
}

function findMail(em: EntityManager, mailId: string): Promise<Mail> {
  return findById(em, MailSchema, 'mal', mailId, { populate: ['app'] });
}
