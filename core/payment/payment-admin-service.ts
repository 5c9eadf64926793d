// PaymentAdminService: how operators run the payment business, translated to the domain and back.

import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { actorOf, isLimited } from '../access/caller.ts';
import { readMoment } from '../moment.ts';
import type { createCallbacks } from './callbacks.ts';
import type { createDuplicates } from './duplicates.ts';
import type { createFeeBacktest } from './fee-backtest.ts';
import type { createFeePreview } from './fee-preview.ts';
import type { createFeeRules, FeeAuthor } from './fee-versions.ts';
import {
  callbackStateFromProto,
  callbackToProto,
  duplicateToProto,
  environmentFromProto,
  feeBacktestToProto,
  feeLineToProto,
  feeRuleFromProto,
  feeRuleToProto,
  gatewayToProto,
  moneyToProto,
  sessionToProto,
  slotToProto,
  usageDayToProto,
  usageLogToProto,
  verificationToProto,
} from './proto.ts';
import type { PaymentDriver } from './provider.ts';
import type { ReleaseSession } from './release-session.ts';
import type { ReencryptSecrets } from './reseal.ts';
import type { createSessions } from './sessions.ts';
import type { createSlots } from './slots.ts';
import type { createTestSlot } from './test-slot.ts';
import type { createUsage } from './usage.ts';
import type { SummarizeUsage } from './usage-days.ts';

export type PaymentAdminServiceOptions = {
  readonly drivers: readonly PaymentDriver[];
  readonly slots: ReturnType<typeof createSlots>;
  readonly testSlot: ReturnType<typeof createTestSlot>;
  readonly feeRules: ReturnType<typeof createFeeRules>;
  readonly previewFees: ReturnType<typeof createFeePreview>;
  readonly backtestFees: ReturnType<typeof createFeeBacktest>;
  readonly callbacks: ReturnType<typeof createCallbacks>;
  readonly sessions: Pick<ReturnType<typeof createSessions>, 'get'>;
  readonly releaseSession: ReleaseSession;
  readonly duplicates: ReturnType<typeof createDuplicates>;
  readonly usage: ReturnType<typeof createUsage>;
  readonly summarizeUsage: SummarizeUsage;
  readonly reencryptSecrets: ReencryptSecrets;
};

export function createPaymentAdminService(
  options: PaymentAdminServiceOptions,
): ServiceImpl<typeof PaymentAdminService> {
  const { slots, testSlot, feeRules, callbacks, duplicates, usage } = options;
  return {
    listGateways: () => ({ gateways: options.drivers.map(gatewayToProto) }),

    async addSlot({ name, gateway, environment, baseUrl, credentials, options }, context) {
      const slot = await slots.add(
        { name, gateway, environment: environmentFromProto(environment), baseUrl, credentials, options },
        actorOf(context),
      );
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

    async updateSlot({ slot, options }, context) {
      const set = await slots.setOptions(slot, options, actorOf(context));
      return { slot: slotToProto(set.slot), unchanged: set.unchanged };
    },

    async setSlotDisabled({ slot, disabled }, context) {
      const set = await slots.setDisabled(slot, disabled, actorOf(context));
      return { slot: slotToProto(set.slot), unchanged: set.unchanged };
    },

    testSlot: ({ slot }) => testSlot(slot),

    async addFeeRule({ rule }, context) {
      const asked = feeRuleFromProto(rule);
      return { rule: feeRuleToProto(await feeRules.add(asked, asked, authorOf(context))) };
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
      const period = { from: from && readMoment('from', from), to: to && readMoment('to', to) };
      const { currencies, ruleIsNew } = await options.backtestFees(
        feeRuleFromProto(rule),
        period,
        isLimited(context),
      );
      return { currencies: currencies.map(feeBacktestToProto), ruleIsNew };
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
      return { callback: callbackToProto(await callbacks.replay(callbackId, actorOf(context))) };
    },

    async releaseChargeSession({ sessionId, reason }, context) {
      const { unchanged } = await options.releaseSession(sessionId, reason, actorOf(context));
      return { session: sessionToProto(await options.sessions.get(sessionId)), unchanged };
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
        settledFrom: settledFrom && readMoment('settledFrom', settledFrom),
        settledTo: settledTo && readMoment('settledTo', settledTo),
      };
      const { items, nextPageToken } = await usage.list(filter, request);
      return {
        usageLogs: items.map(usageLogToProto),
        nextPageToken,
      };
    },

    async summarizeUsage({ slot, settledFrom, settledTo }) {
      const period = {
        from: settledFrom && readMoment('settledFrom', settledFrom),
        to: settledTo && readMoment('settledTo', settledTo),
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
