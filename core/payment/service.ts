// PaymentService: the RPCs by which internal services charge customers.

import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { actorOf } from '../access/caller.ts';
import { formatId, parseId } from '../ids.ts';
import { readTimestamp } from '../timestamp.ts';
import type { createCallbacks } from './callbacks/admin.ts';
import {
  callbackCountToProto,
  callbackToProto,
  chargeStatusFromProto,
  duplicateToProto,
  sessionToProto,
  statusChangeToProto,
  usageLogToProto,
  verificationToProto,
} from './messages.ts';
import type { VerificationStep } from './providers/driver.ts';
import type { createCreateSession } from './sessions/create.ts';
import type { SessionEvents } from './sessions/events.ts';
import type { createSessions } from './sessions/queries.ts';
import type { createRecheck } from './verification/recheck.ts';

export type PaymentServiceOptions = {
  readonly createSession: ReturnType<typeof createCreateSession>;
  readonly sessions: ReturnType<typeof createSessions>;
  readonly callbacks: Pick<ReturnType<typeof createCallbacks>, 'list'>;
  readonly recheck: ReturnType<typeof createRecheck>;
  readonly events: SessionEvents;
};

export function createPaymentService(options: PaymentServiceOptions): ServiceImpl<typeof PaymentService> {
  const { createSession, sessions, callbacks, recheck, events } = options;
  return {
    async createChargeSession(request, context) {
      const { slot, amount, orderReference, customer, metadata, idempotencyKey } = request;
      const { $typeName: _, $unknown: __, ...customerFields } = customer ?? { $typeName: '' };
      const charge = {
        slot,
        amount: { minor: amount?.minorUnits ?? 0n, currency: amount?.currency ?? '' },
        orderReference,
        customer: Object.fromEntries(Object.entries(customerFields).filter(([, value]) => value !== '')),
        metadata,
        idempotencyKey,
      };
      const id = await createSession(charge, actorOf(context));
      return { session: sessionToProto(await sessions.get(formatId('chs', id))) };
    },

    async getChargeSession({ sessionId }) {
      return { session: sessionToProto(await sessions.get(sessionId)) };
    },

    async listChargeSessions(request) {
      const { slot, status, orderReference, createdFrom, createdTo, held } = request;
      const filter = {
        slot,
        status: chargeStatusFromProto(status),
        orderReference,
        createdFrom: createdFrom && readTimestamp('createdFrom', createdFrom),
        createdTo: createdTo && readTimestamp('createdTo', createdTo),
        held,
      };
      const { items, nextPageToken } = await sessions.list(filter, request);
      return { sessions: items.map(sessionToProto), nextPageToken };
    },

    async *watchChargeSession({ sessionId }, { signal }) {
      let last: string | undefined;
      for (;;) {
        // Listen before reading the session, so that no change is missed in between.
        const changed = events.next(parseId('chs', sessionId) ?? '', signal);
        const session = await sessions.get(sessionId);
        const { status, statusVerified, statusChangedAt, heldAt } = session;
        const state = `${status} ${statusVerified} ${statusChangedAt.getTime()} ${heldAt?.getTime()}`;
        if (state !== last) yield { session: sessionToProto(session) };
        last = state;
        await changed;
        if (signal.aborted) return;
      }
    },

    async recheckChargeSession({ sessionId }, context) {
      const last = (await recheck(sessionId, actorOf(context))).at(-1);
      return {
        session: sessionToProto(await sessions.get(sessionId)),
        ...(last && { verification: stepToProto(last) }),
      };
    },

    async inspectChargeSession({ sessionId }) {
      const details = await sessions.inspect(sessionId);
      const { statusChanges, verifications, usageLogs, duplicates } = details;
      const payment = usageLogs.find(({ usageLog }) => usageLog.kind === 'payment');
      const firstPage = { pageSize: 0, pageToken: '' };
      const filter = { state: undefined, gateway: undefined, sessionId };
      const received = await callbacks.list(filter, firstPage);
      return {
        session: sessionToProto(details.session),
        callbacks: received.items.toReversed().map(callbackToProto),
        verifications: verifications.items.toReversed().map(verificationToProto),
        statusChanges: statusChanges.items.toReversed().map(statusChangeToProto),
        ...(payment && { usageLog: usageLogToProto(payment) }),
        usageLogs: usageLogs.map(usageLogToProto),
        duplicatePayments: duplicates.map(duplicateToProto),
        callbackCounts: details.callbackCounts.map(callbackCountToProto),
        moreCallbacks: received.nextPageToken !== '',
        moreVerifications: verifications.nextPageToken !== '',
        moreStatusChanges: statusChanges.nextPageToken !== '',
      };
    },

    async listVerifications({ sessionId, ...request }) {
      const { items, nextPageToken } = await sessions.verifications(sessionId, request);
      return { verifications: items.map(verificationToProto), nextPageToken };
    },

    async listStatusChanges({ sessionId, ...request }) {
      const { items, nextPageToken } = await sessions.statusChanges(sessionId, request);
      return { statusChanges: items.map(statusChangeToProto), nextPageToken };
    },
  };
}

function stepToProto({ operation, outcome, detail, askedAt, durationMs }: VerificationStep) {
  return {
    operation,
    outcome,
    detail,
    askedAt: timestampFromDate(askedAt),
    durationMs: Math.round(durationMs),
  };
}
