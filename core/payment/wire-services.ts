// Wires the RPC services of the payment module.
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { serve } from '../service-implementation.ts';
import type { PaymentContext } from './module-options.ts';
import { createPaymentAdminService } from './payment-admin-service.ts';
import { createPaymentService } from './payment-service.ts';
import { driverOf } from './providers/registry.ts';
import { createCreateSession } from './sessions/create-session.ts';
import { createGetReturnAddress } from './sessions/get-return-address.ts';
import { createSessions } from './sessions/list-sessions.ts';
import type { ShowSessions } from './sessions/session-messages.ts';
import type { wireCallbacks } from './wire-callbacks.ts';
import type { wireRefunds } from './wire-refunds.ts';
import type { wireSweep } from './wire-sweep.ts';
import type { VerificationParts } from './wire-verification.ts';

type Parts = VerificationParts &
  Awaited<ReturnType<typeof wireCallbacks>> &
  ReturnType<typeof wireSweep> &
  Pick<ReturnType<typeof wireRefunds>, 'syncRefunds'> & { readonly showSessions: ShowSessions };

export function wireServices(context: PaymentContext, parts: Parts) {
  const { db, config, shared } = context;
  const { gatewayAddress, providerTimeoutMs: busyWaitMs } = config;
  const options = { ...context, ...shared, ...parts, driverOf, gatewayAddress, busyWaitMs };
  const createSession = createCreateSession(options);
  const services = [
    serve(CallbackService, {
      receiveCallback: parts.receiveCallback.receive,
      getReturnAddress: createGetReturnAddress(db),
    }),
    serve(PaymentService, createPaymentService({ ...options, createSession })),
    serve(PaymentAdminService, createPaymentAdminService(options)),
  ];
  return { services, createSession, sessions: createSessions(db) };
}
