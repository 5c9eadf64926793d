// PaymentAdminService: the RPCs by which operators administer slots, fees, callbacks and payments.

import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { actorOf, isLimited } from '../access/caller.ts';
import { readTimestamp } from '../timestamp.ts';
import type { createCallbacks } from './callbacks/admin.ts';
import type { ReplayCallback } from './callbacks/replay.ts';
import type { createDuplicates } from './duplicates/admin.ts';
import type { AuditFees } from './fees/audit.ts';
import type { createFeeBacktest } from './fees/backtest.ts';
import type { FitFeeRule } from './fees/fit-rule.ts';
import type { createFeePreview } from './fees/preview.ts';
import type { createFeeRules, FeeAuthor } from './fees/versions.ts';
import {
  callbackStateFromProto,
  callbackToProto,
  duplicateToProto,
  environmentFromProto,
  feeBacktestToProto,
  feeDriftToProto,
  feeFitToProto,
  feeLineToProto,
  feeRuleFromProto,
  feeRuleToProto,
  gatewayToProto,
  moneyToProto,
  slotToProto,
  usageDayToProto,
  usageLogToProto,
  verificationToProto,
} from './messages.ts';
import type { PaymentDriver } from './providers/driver.ts';
import type { createSessions } from './sessions/queries.ts';
import { type ShowSessions, showSession } from './sessions/show.ts';
import type { ReleaseSession } from './settlement/release-session.ts';
import type { createSlots } from './slots/admin.ts';
import type { ReencryptSecrets } from './slots/reseal-credentials.ts';
import type { createTestSlot } from './slots/test-connection.ts';
import type { SummarizeUsage } from './usage/days.ts';
import type { createUsage } from './usage/queries.ts';

export type PaymentAdminServiceOptions = {
  readonly drivers: readonly PaymentDriver[];
  readonly slots: ReturnType<typeof createSlots>;
  readonly testSlot: ReturnType<typeof createTestSlot>;
  readonly feeRules: ReturnType<typeof createFeeRules>;
  readonly previewFees: ReturnType<typeof createFeePreview>;
  readonly backtestFees: ReturnType<typeof createFeeBacktest>;
  readonly fitFeeRule: FitFeeRule;
  readonly auditFees: AuditFees;
  readonly callbacks: ReturnType<typeof createCallbacks>;
  readonly replayCallback: ReplayCallback;
  readonly sessions: Pick<ReturnType<typeof createSessions>, 'get'>;
  readonly showSessions: ShowSessions;
  readonly releaseSession: ReleaseSession;
  readonly duplicates: ReturnType<typeof createDuplicates>;
  readonly usage: ReturnType<typeof createUsage>;
  readonly summarizeUsage: SummarizeUsage;
  readonly reencryptSecrets: ReencryptSecrets;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createPaymentAdminService(
  options: PaymentAdminServiceOptions,
): ServiceImpl<typeof PaymentAdminService> {
  const { slots, testSlot, feeRules, callbacks, duplicates, usage } = options;
  return {
    listGateways: () => ({ gateways: options.drivers.map(gatewayToProto) }),

    async addSlot(request, context) {
      const environment = environmentFromProto(request.environment);
      const slot = await slots.add({ ...request, environment }, actorOf(context));
      return { slot: slotToProto(slot) };
    },

    async getSlot({ slot }) {
      return { slot: slotToProto(await slots.get(slot)) };
    },

    async listSlots() {
      return { slots: (await slots.list()).map(slotToProto) };
    },

    async rotateSlotCredentials({ slot, credentials }, context) {
      return { slot: slotToProto(await slots.rotate(slot, credentials, actorOf(context))) };
    },

    async updateSlot({ slot, options, returnOrigins }, context) {
      const changes = { options, returnOrigins: returnOrigins?.origins };
      const changed = await slots.update(slot, changes, actorOf(context));
      return { slot: slotToProto(changed.slot), unchanged: changed.unchanged };
    },

    async setSlotDisabled({ slot, disabled }, context) {
      const set = await slots.setDisabled(slot, disabled, actorOf(context));
      return { slot: slotToProto(set.slot), unchanged: set.unchanged };
    },

    testSlot: ({ slot }) => testSlot(slot),

    async addFeeRule({ rule }, context) {
      const requested = feeRuleFromProto(rule);
      return { rule: feeRuleToProto(await feeRules.add(requested, requested, authorOf(context))) };
    },

    async listFeeRules(request) {
      return { rules: (await feeRules.list(request)).map(feeRuleToProto) };
    },

    async retireFeeRule({ feeRuleId }, context) {
      const { unchanged, ...retired } = await feeRules.retire(feeRuleId, authorOf(context));
      return { rule: feeRuleToProto(retired), unchanged };
    },

    async previewFees({ slot, amount }) {
      const [minor, currency] = [amount?.minorUnits ?? 0n, amount?.currency ?? ''];
      const { lines, totalMinor } = await options.previewFees(slot, { minor, currency });
      return {
        fees: lines.map((line) => feeLineToProto(line, currency)),
        feeTotal: moneyToProto({ minor: totalMinor, currency }),
      };
    },

    async backtestFeeRule({ rule, from, to }, context) {
      const period = { from: from && readTimestamp('from', from), to: to && readTimestamp('to', to) };
      const { currencies, ruleIsNew } = await options.backtestFees(
        feeRuleFromProto(rule),
        period,
        isLimited(context),
      );
      return { currencies: currencies.map(feeBacktestToProto), ruleIsNew };
    },

    async fitFeeRule({ rule, from, to }) {
      const terms = feeRuleFromProto(rule);
      const period = { from: from && readTimestamp('from', from), to: to && readTimestamp('to', to) };
      const fits = await options.fitFeeRule(terms, period);
      return { fits: fits.map((fit) => feeFitToProto(fit, terms)) };
    },

    async auditFees({ slot, settledFrom, settledTo }) {
      const period = {
        from: settledFrom && readTimestamp('settledFrom', settledFrom),
        to: settledTo && readTimestamp('settledTo', settledTo),
      };
      return { drifts: (await options.auditFees(slot, period)).map(feeDriftToProto) };
    },

    async listCallbacks(request) {
      const { state, gateway, sessionId } = request;
      const filter = { state: callbackStateFromProto(state), gateway, sessionId };
      const { items, nextPageToken } = await callbacks.list(filter, request);
      return { callbacks: items.map(callbackToProto), nextPageToken };
    },

    async getCallback({ callbackId }) {
      const { callback, verifications } = await callbacks.get(callbackId);
      return { callback: callbackToProto(callback), verifications: verifications.map(verificationToProto) };
    },

    async replayCallback({ callbackId }, context) {
      return { callback: callbackToProto(await options.replayCallback(callbackId, actorOf(context))) };
    },

    async releaseChargeSession({ sessionId, reason }, context) {
      const { unchanged } = await options.releaseSession(sessionId, reason, actorOf(context));
      const session = await options.sessions.get(sessionId);
      return { session: await showSession(options.showSessions, session), unchanged };
    },

    async listDuplicatePayments(request) {
      const { slot, includeResolved } = request;
      const { items, nextPageToken } = await duplicates.list({ slot, includeResolved }, request);
      return { duplicatePayments: items.map(duplicateToProto), nextPageToken };
    },

    async resolveDuplicatePayment({ duplicatePaymentId, resolution }, context) {
      const { duplicate, unchanged } = await duplicates.resolve(
        duplicatePaymentId,
        resolution,
        actorOf(context),
      );
      return { duplicatePayment: duplicateToProto(duplicate), unchanged };
    },

    async listUsageLogs(request) {
      const { slot, settledFrom, settledTo } = request;
      const filter = {
        slot,
        settledFrom: settledFrom && readTimestamp('settledFrom', settledFrom),
        settledTo: settledTo && readTimestamp('settledTo', settledTo),
      };
      const { items, nextPageToken } = await usage.list(filter, request);
      return { usageLogs: items.map(usageLogToProto), nextPageToken };
    },

    async summarizeUsage({ slot, settledFrom, settledTo }) {
      const period = {
        from: settledFrom && readTimestamp('settledFrom', settledFrom),
        to: settledTo && readTimestamp('settledTo', settledTo),
      };
      return { days: (await options.summarizeUsage(slot, period)).map(usageDayToProto) };
    },

    async reencryptSecrets(_request, context) {
      const { resealed, masterKeyId } = await options.reencryptSecrets(actorOf(context));
      return { resealed, masterKeyId };
    },
  };
}

function authorOf(context: HandlerContext): FeeAuthor {
  return { actor: actorOf(context), isLimited: isLimited(context) };
}
