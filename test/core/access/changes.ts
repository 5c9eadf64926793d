// A call of each RPC that changes something.
import { randomUUID } from 'node:crypto';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { formatId, newUuid } from '../../../core/ids.ts';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { MailKind } from '../../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import { RetentionService } from '../../../gen/hub/retention/v1/retention_service_pb.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import {
  addDuplicate,
  addRefund,
  callBack,
  callbackFields,
  createSession,
  type Payments,
  pay,
  payQuietly,
  SLOTS,
} from '../../support/hub/payment.ts';
import { blockOrder, buyAndPay, createOffer, salesOf } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';

/** For each RPC that changes something: a call that does, and the action it leaves a row of. */
export const CHANGES: Record<string, { action: string; make: (payments: Payments) => Promise<unknown> }> = {
  'CustomerService.CreateCustomer': { action: 'customer.create', make: ({ hub }) => createCustomer(hub) },
  'CustomerService.UpdateCustomer': {
    action: 'customer.update',
    make: async ({ hub }) => {
      const { customers, customerId } = await createCustomer(hub);
      await customers.updateCustomer({ customerId, name: 'Grace', updateMask: { paths: ['name'] } });
    },
  },
  'CustomerService.EraseCustomer': {
    action: 'customer.erase',
    make: async ({ hub }) => {
      const { customers, customerId } = await createCustomer(hub);
      await customers.eraseCustomer({ customerId });
    },
  },
  'EventService.CreateEndpoint': { action: 'endpoint.create', make: ({ hub }) => createEndpoint(hub) },
  'EventService.UpdateEndpoint': {
    action: 'endpoint.update',
    make: async ({ hub }) => {
      const { events, endpointId } = await createEndpoint(hub);
      await events.updateEndpoint({ endpointId, settings: { url: HOOK, events: ['license.*'] } });
      await events.removeEndpoint({ endpointId });
    },
  },
  'EventService.DisableEndpoint': {
    action: 'endpoint.disable',
    make: async ({ hub }) => {
      const { events, endpointId } = await createEndpoint(hub);
      await events.disableEndpoint({ endpointId, reason: 'a test' });
    },
  },
  'EventService.EnableEndpoint': {
    action: 'endpoint.enable',
    make: async ({ hub }) => {
      const { events, endpointId } = await createEndpoint(hub);
      await events.disableEndpoint({ endpointId, reason: 'a test' });
      await events.enableEndpoint({ endpointId });
    },
  },
  'EventService.RemoveEndpoint': {
    action: 'endpoint.remove',
    make: async ({ hub }) => {
      const { events, endpointId } = await createEndpoint(hub);
      await events.removeEndpoint({ endpointId });
    },
  },
  'EventService.RotateEndpointSecret': {
    action: 'endpoint.rotate_secret',
    make: async ({ hub }) => {
      const { events, endpointId } = await createEndpoint(hub);
      await events.rotateEndpointSecret({ endpointId });
    },
  },
  'EventService.ReplayEvent': {
    action: 'event.replay',
    make: async ({ hub }) => {
      const { licenseId } = await issueLicense(hub.admin);
      const { events, endpointId } = await createEndpoint(hub);
      const { events: found } = await events.listEvents({ object: licenseId });
      await events.replayEvent({ endpointId, eventId: found[0]?.eventId ?? '' });
    },
  },
  'LicenseAdminService.CreateApp': { action: 'app.create', make: ({ hub }) => createApp(hub.admin) },
  'LicenseAdminService.RotateSigningKey': {
    action: 'app.rotate_key',
    make: async ({ hub }) => hub.admin.rotateSigningKey({ app: await createApp(hub.admin) }),
  },
  'LicenseAdminService.WithdrawSigningKey': {
    action: 'app.withdraw_key',
    make: async ({ hub: { admin } }) => {
      const slug = await createApp(admin);
      const { app } = await admin.rotateSigningKey({ app: slug });
      const retired = app?.signingKeys.at(-1)?.kid ?? '';
      await admin.withdrawSigningKey({ app: slug, kid: retired });
    },
  },
  'LicenseAdminService.SetLimitProfile': {
    action: 'limit_profile.set',
    make: async ({ hub: { admin } }) =>
      admin.setLimitProfile({ app: await createApp(admin), name: 'pro', limits: { a: 1n } }),
  },
  'LicenseAdminService.IssueLicenses': {
    action: 'license.issue',
    make: ({ hub }) => issueLicense(hub.admin),
  },
  'LicenseAdminService.UpdateApp': {
    action: 'app.update',
    make: async ({ hub: { admin } }) =>
      admin.updateApp({ app: await createApp(admin), name: 'New', updateMask: { paths: ['name'] } }),
  },
  'LicenseAdminService.ImportLicenses': {
    action: 'license.import',
    make: async ({ hub: { admin } }) => {
      const app = await createApp(admin);
      const licenses = [{ line: 2, licenseKey: `OLD-${randomUUID()}`, seatLimit: 1 }];
      await admin.importLicenses(
        (async function* () {
          yield { app, licenses };
        })(),
      );
    },
  },
  'LicenseAdminService.UpdateLicense': {
    action: 'license.update',
    make: async ({ hub: { admin } }) => {
      const { licenseId } = await issueLicense(admin);
      await admin.updateLicense({ licenseId, seatLimit: 9, updateMask: { paths: ['seat_limit'] } });
    },
  },
  'LicenseAdminService.RenewLicense': {
    action: 'license.renew',
    make: async ({ hub: { admin } }) => {
      const expiresAt = timestampFromDate(new Date(Date.now() + 86_400_000));
      const { licenseId } = await issueLicense(admin, { expiresAt });
      await admin.renewLicense({ licenseId, extension: { case: 'by', value: { years: 1 } } });
    },
  },
  'LicenseAdminService.SuspendLicense': {
    action: 'license.suspend',
    make: async ({ hub: { admin } }) =>
      admin.suspendLicense({ licenseId: (await issueLicense(admin)).licenseId, reason: 'unpaid' }),
  },
  'LicenseAdminService.ResumeLicense': {
    action: 'license.resume',
    make: async ({ hub: { admin } }) => {
      const { licenseId } = await issueLicense(admin);
      await admin.suspendLicense({ licenseId, reason: 'unpaid' });
      await admin.resumeLicense({ licenseId });
    },
  },
  'LicenseAdminService.TransferLicense': {
    action: 'license.transfer',
    make: async ({ hub }) => {
      const { licenseId } = await issueLicense(hub.admin);
      const { customerId } = await createCustomer(hub);
      await hub.admin.transferLicense({ licenseId, customerId });
    },
  },
  'LicenseAdminService.RekeyLicense': {
    action: 'license.rekey',
    make: async ({ hub: { admin } }) =>
      admin.rekeyLicense({ licenseId: (await issueLicense(admin)).licenseId }),
  },
  'LicenseAdminService.RotateKeySecret': {
    action: 'key_secret.rotate',
    make: ({ hub }) => hub.admin.rotateKeySecret({}),
  },
  'LicenseAdminService.RevokeLicense': {
    action: 'license.revoke',
    make: async ({ hub: { admin } }) =>
      admin.revokeLicense({ licenseId: (await issueLicense(admin)).licenseId, reason: 'refund' }),
  },
  'LicenseAdminService.ReinstateLicense': {
    action: 'license.reinstate',
    make: async ({ hub: { admin } }) => {
      const { licenseId } = await issueLicense(admin);
      await admin.revokeLicense({ licenseId, reason: 'refund' });
      await admin.reinstateLicense({ licenseId });
    },
  },
  'LicenseAdminService.ReleaseSeat': {
    action: 'seat.release',
    make: async ({ hub: { admin, gatewayUrl } }) => {
      const { licenseId, licenseKey } = await issueLicense(admin);
      await activate(gatewayUrl, licenseKey, 'machine-1');
      const [seat] = (await admin.listSeats({ licenseId })).seats;
      await admin.releaseSeat({ seatId: seat?.seatId ?? '' });
    },
  },
  'RetentionService.PruneMonths': {
    action: 'retention.prune',
    make: async ({ hub }) => {
      await query(hub.databaseUrl, `select make_month_partitions('callback', '{2020-01-01}')`);
      await createClient(RetentionService, hub.transport).pruneMonths({ before: '2020-02' });
    },
  },
  'AuditService.BeginAuditChain': {
    action: 'audit.begin_chain',
    make: async ({ hub }) => {
      await query(hub.databaseUrl, `update audit_key set sealed_key = ''`);
      await createClient(AuditService, hub.transport).beginAuditChain({ reason: 'the key is gone' });
    },
  },
  'TokenService.CreateToken': { action: 'token.create', make: createToken },
  'TokenService.RevokeToken': {
    action: 'token.revoke',
    make: async (payments) => {
      const tokens = createClient(TokenService, payments.hub.transport);
      await tokens.revokeToken({ tokenId: await createToken(payments) });
    },
  },
  'MailService.ResendMail': {
    action: 'mail.resend',
    make: async (payments) => {
      const mails = createClient(MailService, payments.hub.transport);
      const sales = await salesOf(payments);
      const { order } = await buyAndPay(sales, await createOffer(sales, 'pro'));
      const { mails: found } = await mails.listMails({ order: order.orderId });
      await mails.resendMail({ mailId: found[0]?.mailId ?? '' });
    },
  },
  'MailService.SendTestMail': {
    action: 'mail.test',
    make: async ({ hub }) =>
      createClient(MailService, hub.transport).sendTestMail({
        to: 'you@example.com',
        app: await createApp(hub.admin),
      }),
  },
  'MailService.SetMailTemplate': { action: 'mail_template.set', make: ({ hub }) => setTemplate(hub) },
  'MailService.RemoveMailTemplate': {
    action: 'mail_template.remove',
    make: async ({ hub }) => {
      const template = await setTemplate(hub);
      await createClient(MailService, hub.transport).removeMailTemplate(template);
    },
  },
  'OfferService.CreateOffer': {
    action: 'offer.create',
    make: async (payments) => createOffer(await salesOf(payments), 'pro'),
  },
  'OfferService.UpdateOffer': {
    action: 'offer.update',
    make: async (payments) => {
      const sales = await salesOf(payments);
      const offer = await createOffer(sales, 'pro');
      const { offer: created } = await sales.offers.getOffer({ offer });
      const terms = created?.terms;
      if (terms === undefined) throw new Error('the offer has terms');
      await sales.offers.updateOffer({ offer, terms: { ...terms, name: 'Pro 2' } });
    },
  },
  'OfferService.ArchiveOffer': {
    action: 'offer.archive',
    make: async (payments) => {
      const sales = await salesOf(payments);
      await sales.offers.archiveOffer({ offer: await createOffer(sales, 'pro') });
    },
  },
  'OfferService.UnarchiveOffer': {
    action: 'offer.unarchive',
    make: async (payments) => {
      const sales = await salesOf(payments);
      const offer = await createOffer(sales, 'pro');
      await sales.offers.archiveOffer({ offer });
      await sales.offers.unarchiveOffer({ offer });
    },
  },
  'OrderService.RetryOrder': {
    action: 'order.fulfill',
    make: async (payments) => {
      const sales = await salesOf(payments);
      const { orderId, licenseId } = await blockOrder(sales);
      await payments.hub.admin.reinstateLicense({ licenseId });
      await sales.orders.retryOrder({ order: orderId });
    },
  },
  'PaymentAdminService.AddSlot': { action: 'slot.add', make: addSlot },
  'PaymentAdminService.RotateSlotCredentials': {
    action: 'slot.rotate',
    make: async (payments) => {
      const credentials = payments.simulator.credentials.gateway_one;
      await payments.admin.rotateSlotCredentials({ slot: await addSlot(payments), credentials });
    },
  },
  'PaymentAdminService.SetSlotDisabled': {
    action: 'slot.disable',
    make: async (payments) =>
      payments.admin.setSlotDisabled({ slot: await addSlot(payments), disabled: true }),
  },
  'PaymentAdminService.UpdateSlot': {
    action: 'slot.update',
    make: async (payments) =>
      payments.admin.updateSlot({ slot: await addSlot(payments), options: { riskyPayments: 'hold' } }),
  },
  'PaymentAdminService.ReleaseChargeSession': {
    action: 'charge_session.release',
    make: async (payments) => {
      const { admin, simulator, hub } = payments;
      const slot = SLOTS.gateway_one;
      await admin.updateSlot({ slot, options: { riskyPayments: 'hold' } });
      const session = await createSession(payments, 'gateway_one');
      const ref = session.providerPaymentId;
      simulator.faults.add({ kind: 'risky', operation: 'gateway_one.validate', ref });
      await callBack(
        hub.gatewayUrl,
        'gateway_one',
        callbackFields(session, 'paid', payQuietly(payments, session)),
      );
      await admin.releaseChargeSession({ sessionId: session.sessionId, reason: 'customer known' });
      await admin.updateSlot({ slot, options: { riskyPayments: 'settle' } });
    },
  },
  'PaymentAdminService.AddFeeRule': { action: 'fee_rule.add', make: addFeeRule },
  'PaymentAdminService.RetireFeeRule': {
    action: 'fee_rule.retire',
    make: async (payments) => payments.admin.retireFeeRule({ feeRuleId: await addFeeRule(payments) }),
  },
  'PaymentAdminService.ReplayCallback': {
    action: 'callback.replay',
    make: async (payments) => {
      const session = { session_id: formatId('chs', newUuid()), status: 'VALID', tran_id: randomUUID() };
      await callBack(payments.hub.gatewayUrl, 'gateway_one', session);
      const [callback] = (await payments.admin.listCallbacks({ pageSize: 1 })).callbacks;
      await payments.admin.replayCallback({ callbackId: callback?.callbackId ?? '' });
    },
  },
  'PaymentAdminService.ResolveDuplicatePayment': {
    action: 'duplicate_payment.resolve',
    make: async (payments) => {
      const duplicatePaymentId = await addDuplicate(payments, await createSession(payments, 'gateway_one'));
      await payments.admin.resolveDuplicatePayment({ duplicatePaymentId, resolution: 'refunded' });
    },
  },
  'PaymentAdminService.ReencryptSecrets': {
    action: 'masterkey.rotate',
    make: ({ admin }) => admin.reencryptSecrets({}),
  },
  'RefundService.CreateRefund': {
    action: 'refund.create',
    make: async (payments) => {
      const session = await createSession(payments, 'gateway_one');
      await pay(payments, session);
      const refunds = createClient(RefundService, payments.hub.transport);
      await refunds.createRefund({ sessionId: session.sessionId, reason: 'returned' });
    },
  },
  'RefundService.ResolveRefund': {
    action: 'refund.resolve',
    make: async (payments) => {
      const refundId = await addRefund(payments, await createSession(payments, 'gateway_one'));
      const refunds = createClient(RefundService, payments.hub.transport);
      await refunds.resolveRefund({ refundId, resolution: 'released a seat' });
    },
  },
  'PaymentService.CreateChargeSession': {
    action: 'charge_session.create',
    make: (payments) => createSession(payments, 'gateway_one'),
  },
  'PaymentService.RecheckChargeSession': {
    action: 'charge_session.recheck',
    make: async (payments) => {
      const session = await createSession(payments, 'gateway_one');
      payQuietly(payments, session);
      await payments.sessions.recheckChargeSession({ sessionId: session.sessionId });
    },
  },
};

async function createToken({ hub }: Payments): Promise<string> {
  const tokens = createClient(TokenService, hub.transport);
  const { serviceToken } = await tokens.createToken({ name: 'a viewer', role: Role.VIEWER });
  return serviceToken?.tokenId ?? '';
}

async function addSlot({ admin, simulator, tap }: Payments): Promise<string> {
  const name = `slot-${randomUUID().slice(0, 8)}`;
  await admin.addSlot({
    name,
    gateway: 'gateway_one',
    environment: SlotEnvironment.SANDBOX,
    baseUrl: `${tap.url}/gateway_one`,
    credentials: simulator.credentials.gateway_one,
  });
  return name;
}

async function addFeeRule({ admin }: Payments): Promise<string> {
  const { rule } = await admin.addFeeRule({
    rule: { name: `rule-${randomUUID().slice(0, 8)}`, basisPoints: 1 },
  });
  return rule?.feeRuleId ?? '';
}

/** No name of this domain resolves (RFC 6761), so that nothing is sent. */
const HOOK = 'https://hooks.invalid/hub';

/** Numbers all events that were committed before. */
async function createEndpoint({ transport }: Payments['hub']) {
  const events = createClient(EventService, transport);
  const { endpoint } = await events.createEndpoint({ settings: { url: HOOK, events: ['seat.*'] } });
  return { events, endpointId: endpoint?.endpointId ?? '' };
}

async function createCustomer({ transport }: Payments['hub']) {
  const customers = createClient(CustomerService, transport);
  const { customer } = await customers.createCustomer({ name: 'Ada' });
  return { customers, customerId: customer?.customerId ?? '' };
}

async function setTemplate(hub: Payments['hub']) {
  const ref = { app: await createApp(hub.admin), kind: MailKind.RENEWAL, language: 'en' };
  const mails = createClient(MailService, hub.transport);
  await mails.setMailTemplate({ ...ref, subject: 'Renewed', text: 'Thank you' });
  return ref;
}
