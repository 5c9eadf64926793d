// PaymentService: how internal services charge customers, translated to the domain and back.

import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { actorOf } from '../access/caller.ts';
import { formatId, parseId } from '../ids.ts';
import { readMoment } from '../moment.ts';
import type { createCallbacks } from './callbacks.ts';
import type { createCreateSession } from './create-session.ts';
import {
  callbackCountToProto,
  callbackToProto,
  chargeStatusFromProto,
  duplicateToProto,
  sessionToProto,
  statusChangeToProto,
  usageLogToProto,
  verificationToProto,
} from './proto.ts';
import type { VerificationStep } from './provider.ts';
import type { createRecheck } from './recheck.ts';
import type { SessionEvents } from './session-events.ts';
import type { createSessions } from './sessions.ts';

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
      const { $typeName: _, $unknown: __, ...who } = customer ?? { $typeName: '' };
      const asked = {
        slot,
        amount: { minor: amount?.minorUnits ?? 0n, currency: amount?.currency ?? '' },
        orderReference,
        customer: Object.fromEntries(Object.entries(who).filter(([, value]) => value !== '')),
        metadata,
        idempotencyKey,
      };
      const id = await createSession(asked, actorOf(context));
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
        createdFrom: createdFrom && readMoment('createdFrom', createdFrom),
        createdTo: createdTo && readMoment('createdTo', createdTo),
        held,
      };
      const { items, nextPageToken } = await sessions.list(filter, request);
      return { sessions: items.map(sessionToProto), nextPageToken };
    },

    async *watchChargeSession({ sessionId }, { signal }) {
      let last: string | undefined;
      for (;;) {
        // Listening begins before the session is read, so that no change falls in between.
        const changed = events.next(parseId('chs', sessionId) ?? '', signal);
        const session = await sessions.get(sessionId);
        const state = `${session.status} ${session.statusVerified} ${session.statusChangedAt.getTime()} ${session.heldAt?.getTime()}`;
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
      const story = await sessions.story(sessionId);
      const { statusChanges, verifications, usageLogs, duplicates } = story;
      const payment = usageLogs.find(({ usageLog }) => usageLog.kind === 'payment');
      const firstPage = { pageSize: 0, pageToken: '' };
      const filter = { state: undefined, gateway: undefined, sessionId };
      const received = await callbacks.list(filter, firstPage);
      return {
        session: sessionToProto(story.session),
        callbacks: received.items.toReversed().map(callbackToProto),
        verifications: verifications.items.toReversed().map(verificationToProto),
        statusChanges: statusChanges.items.toReversed().map(statusChangeToProto),
        ...(payment && { usageLog: usageLogToProto(payment) }),
        usageLogs: usageLogs.map(usageLogToProto),
        duplicatePayments: duplicates.map(duplicateToProto),
        callbackCounts: story.callbackCounts.map(callbackCountToProto),
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
