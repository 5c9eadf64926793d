// The clients of a hub. Loads Connect, so commands import it only when they call.
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { LicenseAdminService } from '../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentAdminService } from '../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../gen/hub/payment/v1/payment_service_pb.ts';
import type { Target } from './target.ts';

/** Milliseconds a call may take; issuing a thousand licenses takes well under one second. */
const TIMEOUT_MS = 30_000;

export type Hub = {
  readonly admin: Client<typeof LicenseAdminService>;
  readonly payments: Client<typeof PaymentService>;
  readonly paymentAdmin: Client<typeof PaymentAdminService>;
};

/** Clients that send the target's token with each call. Nothing is sent yet. */
export function connect(target: Target): Hub {
  const transport = transportTo(target);
  return {
    admin: createClient(LicenseAdminService, transport),
    payments: createClient(PaymentService, transport),
    paymentAdmin: createClient(PaymentAdminService, transport),
  };
}

export function transportTo({ server, token }: Target): Transport {
  const authorize: Interceptor = (next) => (request) => {
    if (token !== undefined) request.header.set('Authorization', `Bearer ${token.value}`);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: server,
    httpVersion: '1.1',
    interceptors: [authorize],
    defaultTimeoutMs: TIMEOUT_MS,
  });
}
