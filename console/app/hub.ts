// Connect clients of the hub's services, authenticated as the caller.
import type { DescMethod } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { EventService } from '../../gen/hub/event/v1/event_service_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { MailService } from '../../gen/hub/mail/v1/mail_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { OfferService } from '../../gen/hub/order/v1/offer_service_pb.ts';
import { OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { RefundService } from '../../gen/hub/payment/v1/refund_service_pb.ts';

const SERVICES = {
  health: Health,
  access: AccessService,
  audit: AuditService,
  customers: CustomerService,
  events: EventService,
  licenses: LicenseAdminService,
  mails: MailService,
  metrics: MetricsService,
  offers: OfferService,
  orders: OrderService,
  payments: PaymentService,
  paymentAdmin: PaymentAdminService,
  refunds: RefundService,
};

type Services = typeof SERVICES;

export type Hub = { readonly [name in keyof Services]: Client<Services[name]> };

/** A service and one of its methods: `licenses.getLicense`. */
export type MethodName = {
  [name in keyof Services]: `${name}.${keyof Services[name]['method'] & string}`;
}[keyof Services];

const METHODS: ReadonlyMap<string, DescMethod> = new Map(
  Object.entries(SERVICES).flatMap(([name, { methods }]) =>
    methods.map((method) => [`${name}.${method.localName}`, method] as const),
  ),
);

export function methodOf(name: MethodName): DescMethod {
  const method = METHODS.get(name);
  if (method === undefined) throw new Error(`there is no method ${name}`);
  return method;
}

/** Some calls wait up to 30 seconds for a payment provider. */
const TIMEOUT_MS = 40_000;

/**
 * @param token undefined if the browser presents a client certificate
 * @param onRefused called when the hub rejects the token
 */
export function connect(token: string | undefined, onRefused: () => void = () => {}): Hub {
  const transport = createConnectTransport({
    // The page is at …/console/, the services one level above.
    baseUrl: new URL('..', document.baseURI).href,
    defaultTimeoutMs: TIMEOUT_MS,
    interceptors: [
      (next) => async (request) => {
        if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
        try {
          return await next(request);
        } catch (error) {
          if (ConnectError.from(error).code === Code.Unauthenticated) onRefused();
          throw error;
        }
      },
    ],
  });
  const clients = Object.entries(SERVICES).map(([name, service]) => [name, createClient(service, transport)]);
  return Object.fromEntries(clients); // of the same names
}
