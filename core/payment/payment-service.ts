// PaymentService: the RPCs by which internal services charge customers.

import type { ServiceImpl } from '@connectrpc/connect';
import type {
  CreateChargeSessionRequest,
  PaymentService,
} from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, nameOf } from '../../lib/presentation/enum-names.ts';
import { actorOf, appsOf } from '../access/caller.ts';
import { HubError } from '../errors.ts';
import { formatId, parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { createCallbacks } from './callbacks/callback-admin.ts';
import type { ChargeSession } from './entities.ts';
import {
  callbackToProto,
  duplicateToProto,
  readPeriod,
  refundToProto,
  statusChangeToProto,
  usageLogToProto,
  verificationToProto,
} from './messages.ts';
import type { PurchaseRequest, Sales } from './order-interface.ts';
import { driverOf } from './providers/registry.ts';
import type { createCreateSession } from './sessions/create-session.ts';
import { createSessions } from './sessions/list-sessions.ts';
import type { SessionEvents } from './sessions/read-sessions.ts';
import { type ShowSessions, showSession } from './sessions/session-messages.ts';
import { createRecheck, type RecheckOptions } from './verification/recheck.ts';

export type PaymentServiceOptions = RecheckOptions & {
  readonly db: Database;
  readonly createSession: ReturnType<typeof createCreateSession>;
  readonly events: SessionEvents;
  readonly sales: Pick<Sales, 'issueClaim'>;
  readonly showSessions: ShowSessions;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createPaymentService(options: PaymentServiceOptions): ServiceImpl<typeof PaymentService> {
  const { db, createSession, events, sales, showSessions } = options;
  const sessions = createSessions(db);
  const callbacks = createCallbacks({ db, driverOf });
  const recheck = createRecheck(options);
  const show = (session: ChargeSession) => showSession(showSessions, session);
  return {
    async createChargeSession(request, context) {
      const { amount, customer } = request;
      const { $typeName: _, $unknown: __, ...customerFields } = customer ?? { $typeName: '' };
      const charge = {
        ...request,
        amount: amount && { minor: amount.minorUnits, currency: amount.currency },
        customer: Object.fromEntries(Object.entries(customerFields).filter(([, value]) => value !== '')),
        purchase: purchaseOf(request),
        callerApps: appsOf(context),
      };
      const id = await createSession(charge, actorOf(context));
      const session = await sessions.get(formatId('chs', id));
      const isClaimable = session.hasPurchase || session.returnUrl != null;
      return {
        session: await show(session),
        ...(isClaimable && { claimToken: await sales.issueClaim(id) }),
      };
    },

    async getChargeSession({ sessionId }) {
      return { session: await show(await sessions.get(sessionId)) };
    },

    async listChargeSessions(request) {
      const filter = {
        ...request,
        status: nameOf(CHARGE_STATUSES, request.status),
        created: readPeriod(request, 'createdFrom', 'createdTo'),
      };
      const { items, nextPageToken } = await sessions.list(filter, request);
      return { sessions: await showSessions(items), nextPageToken };
    },

    async *watchChargeSession({ sessionId }, { signal }) {
      let last: string | undefined;
      for (;;) {
        // Listen before reading the session, so that no change is missed in between.
        const changed = events.next(parseId('chs', sessionId) ?? '', signal);
        const session = await sessions.get(sessionId);
        const { status, statusVerified, statusChangedAt, heldAt } = session;
        const state = `${status} ${statusVerified} ${statusChangedAt.getTime()} ${heldAt?.getTime()}`;
        if (state !== last) yield { session: await show(session) };
        last = state;
        await changed;
        if (signal.aborted) return;
      }
    },

    async recheckChargeSession({ sessionId }, context) {
      const last = (await recheck(sessionId, actorOf(context))).at(-1);
      return {
        session: await show(await sessions.get(sessionId)),
        ...(last && { verification: verificationToProto(last) }),
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
        session: await show(details.session),
        callbacks: received.items.toReversed().map(callbackToProto),
        verifications: verifications.items.toReversed().map(verificationToProto),
        statusChanges: statusChanges.items.toReversed().map(statusChangeToProto),
        ...(payment && { usageLog: usageLogToProto(payment) }),
        usageLogs: usageLogs.map(usageLogToProto),
        duplicatePayments: duplicates.map(duplicateToProto),
        refunds: details.refunds.map(refundToProto),
        callbackCounts: details.callbackCounts.map(({ state, ...count }) => ({
          ...count,
          state: CALLBACK_STATES[state],
        })),
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

/** @throws HubError `purchase_invalid` for parts of a purchase without an offer */
function purchaseOf(request: CreateChargeSessionRequest): PurchaseRequest | undefined {
  const { offer, quantity, currency, customerId, licenseId } = request;
  if (offer !== undefined) return { offer, quantity: quantity || 1, currency, customerId, licenseId };
  const given = Object.entries({ quantity, currency, customerId, licenseId }).find(([, value]) => value);
  if (given === undefined) return undefined;
  const [field] = given;
  throw new HubError('purchase_invalid', `${field} needs an offer: set offer`, { field });
}
