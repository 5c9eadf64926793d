// Sales with a mail server, for the tests of mails.
import { type Client, createClient } from '@connectrpc/connect';
import type { Mail } from '../../../gen/hub/mail/v1/mail_pb.ts';
import { MailState } from '../../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import type { PaymentsOptions } from '../../support/hub/payment.ts';
import { createOffer, type Sales, startSales } from '../../support/hub/sales.ts';
import { type MailServer, startMailServer } from '../../support/network/mail-server.ts';
import { until } from '../../support/until.ts';

export type MailScene = {
  readonly server: MailServer;
  readonly sales: Sales;
  readonly mails: Client<typeof MailService>;
  /** An offer of new licenses. */
  readonly pro: string;
  stop(): Promise<void>;
};

export const FROM = { name: 'The Shop', address: 'shop@shop.example' };

export async function startMailScene(options: PaymentsOptions = {}): Promise<MailScene> {
  const server = await startMailServer();
  const settings = { smtpUrl: `smtp://127.0.0.1:${server.port}`, mailFrom: FROM, ...options.settings };
  const sales = await startSales({ ...options, settings });
  return {
    server,
    sales,
    mails: createClient(MailService, sales.payments.hub.transport),
    pro: await createOffer(sales, 'pro', { downloadUrl: 'https://shop.example/download' }),
    async stop() {
      await sales.stop();
      await server.close();
    },
  };
}

/** The only mail of an order. */
export async function mailOf({ mails }: Pick<MailScene, 'mails'>, order: string): Promise<Mail> {
  const { mails: found } = await mails.listMails({ order });
  const [mail] = found;
  if (mail === undefined || found.length > 1) throw new Error(`the order has ${found.length} mails`);
  return mail;
}

/** Waits until the mail of an order is in a state. */
export async function untilMail(
  scene: Pick<MailScene, 'mails'>,
  order: string,
  isReached: (mail: Mail) => boolean,
  what: string,
): Promise<Mail> {
  let mail: Mail | undefined;
  await until(async () => {
    mail = await mailOf(scene, order);
    return isReached(mail);
  }, `the mail of ${order} ${what}`);
  if (mail === undefined) throw new Error('no mail');
  return mail;
}

export const isSent = ({ state }: Mail): boolean => state === MailState.SENT;
export const isFailed = ({ state }: Mail): boolean => state === MailState.FAILED;
export const wasDeferred = ({ state, attempts }: Mail): boolean => state === MailState.QUEUED && attempts > 0;
