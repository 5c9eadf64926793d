// The clients of a hub. Loads Connect, so commands import it only when they call.
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { Target } from './choose-hub.ts';
import { tlsOptions } from './trust.ts';

/** Milliseconds for a call. Issuing a thousand licenses takes well under a second. */
const TIMEOUT_MS = 30_000;
/** Far larger than any response of a hub: a server that is no hub must not fill the memory. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export type Hub = {
  readonly [Name in keyof typeof SERVICES]: Client<Awaited<ReturnType<(typeof SERVICES)[Name]>>>;
};

/** Loading a contract takes as long as a call: load only the required ones. */
const SERVICES = {
  access: async () => (await import('../../gen/hub/access/v1/access_service_pb.ts')).AccessService,
  admin: async () =>
    (await import('../../gen/hub/license/v1/license_admin_service_pb.ts')).LicenseAdminService,
  audit: async () => (await import('../../gen/hub/access/v1/audit_service_pb.ts')).AuditService,
  customers: async () => (await import('../../gen/hub/customer/v1/customer_service_pb.ts')).CustomerService,
  events: async () => (await import('../../gen/hub/event/v1/event_service_pb.ts')).EventService,
  mails: async () => (await import('../../gen/hub/mail/v1/mail_service_pb.ts')).MailService,
  metrics: async () => (await import('../../gen/hub/metrics/v1/metrics_service_pb.ts')).MetricsService,
  offers: async () => (await import('../../gen/hub/order/v1/offer_service_pb.ts')).OfferService,
  orders: async () => (await import('../../gen/hub/order/v1/order_service_pb.ts')).OrderService,
  payments: async () => (await import('../../gen/hub/payment/v1/payment_service_pb.ts')).PaymentService,
  refunds: async () => (await import('../../gen/hub/payment/v1/refund_service_pb.ts')).RefundService,
  paymentAdmin: async () =>
    (await import('../../gen/hub/payment/v1/payment_admin_service_pb.ts')).PaymentAdminService,
  retention: async () =>
    (await import('../../gen/hub/retention/v1/retention_service_pb.ts')).RetentionService,
  tokens: async () => (await import('../../gen/hub/access/v1/token_service_pb.ts')).TokenService,
};

/** A client that sends the target's token with each call. Does not connect yet. */
export async function connect<Name extends keyof Hub>(
  target: Target,
  service: Name,
  interceptors: readonly Interceptor[] = [],
): Promise<Hub[Name]> {
  const contract = await SERVICES[service]();
  return createClient(contract, transportTo(target, interceptors)) as Hub[Name]; // of that contract
}

export function transportTo(
  { server, token, trust }: Target,
  interceptors: readonly Interceptor[] = [],
): Transport {
  const authorize: Interceptor = (next) => (request) => {
    if (token !== undefined) request.header.set('Authorization', `Bearer ${token.value}`);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: server,
    httpVersion: '1.1',
    ...(server.startsWith('https:') && { nodeOptions: tlsOptions(trust ?? {}) }),
    interceptors: [...interceptors, authorize],
    // Compressing a thousand random keys would take the hub longer than generating them.
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
    defaultTimeoutMs: TIMEOUT_MS,
  });
}
