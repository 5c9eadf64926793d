// The mail module: queues and sends the mails of orders, and serves MailService.
import { MailService } from '../../gen/hub/mail/v1/mail_service_pb.ts';
import { createOwnerLookup } from '../access/owner-lookup.ts';
import type { KeySecrets } from '../license/keys/open-key-secrets.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { createReadIssuedKeys } from '../order/orders/issued-keys.ts';
import { serve } from '../service-implementation.ts';
import { createCompose } from './content/compose-mail.ts';
import { createMails } from './mail-admin.ts';
import { createMailService } from './mail-service.ts';
import { createMailMetrics, mailTableMetrics } from './metrics.ts';
import { createQueueMails } from './queue/queue-mails.ts';
import { startSender } from './queue/sender.ts';
import { createMailer, type MailConfig } from './sending/send-mail.ts';

export type MailModuleOptions = Omit<ModuleDependencies, 'sealer'> & {
  /** Undefined if the hub sends no mail. */
  readonly config: MailConfig | undefined;
  readonly keySecrets: Pick<KeySecrets, 'get'>;
  /** Aborts mails in progress. */
  readonly ending: AbortSignal;
};

export function createMailModule(options: MailModuleOptions) {
  const { config, db, clock, logger, tasks } = options;
  const compose = createCompose({ db, readIssuedKeys: createReadIssuedKeys(db, options.keySecrets) });
  const metrics = createMailMetrics(options.metrics);
  const mailer = config && createMailer({ config, signal: options.ending });
  const sending = { pool: db.pool, compose, clock, logger, metrics };
  const sender = mailer && startSender({ ...sending, mailer, task: tasks.of('mails') });
  const mails = createMails({ db, clock, domain: mailer?.domain, onDue: () => sender?.wake() });
  return {
    services: [serve(MailService, createMailService({ db, clock, mails, compose, mailer }))],
    // mail_pkey
    findOwner: {
      mail: createOwnerLookup(db.pool, 'app.slug').byId(
        'mal',
        'app join mail m on m.app_id = app.id where m.id',
      ),
    },
    figures: mailTableMetrics,
    /** For fulfillment; undefined if the hub sends no mail. */
    queueMails: mailer && createQueueMails(mailer.domain),
    /** Waits for the mails in progress. */
    close: async (): Promise<void> => sender?.stop(),
  };
}
