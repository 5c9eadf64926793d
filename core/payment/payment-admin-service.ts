// PaymentAdminService: the RPCs by which operators administer slots, fees, callbacks and payments.

import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { CALLBACK_STATES, nameOf } from '../../lib/presentation/enum-names.ts';
import { actorOf, isLimited } from '../access/caller.ts';
import { createCallbacks } from './callbacks/callback-admin.ts';
import { createReplayCallback, type ReplayOptions } from './callbacks/replay.ts';
import { createDuplicates } from './duplicates/duplicate-admin.ts';
import { auditFees } from './fees/audit-fees.ts';
import { createFeeBacktest } from './fees/backtest.ts';
import { createFitFeeRule } from './fees/fit-rule.ts';
import { createFeeRules, type FeeAuthor } from './fees/rule-versions.ts';
import { computeFees } from './fees/rules.ts';
import {
  callbackToProto,
  duplicateToProto,
  environmentFromProto,
  feeLineToProto,
  feeRuleFromProto,
  feeRuleToProto,
  gatewayToProto,
  moneyToProto,
  readPeriod,
  slotToProto,
  usageLogToProto,
  verificationToProto,
} from './messages.ts';
import { DRIVERS } from './providers/registry.ts';
import { checkAmount } from './sessions/charge-amount.ts';
import { createSessions } from './sessions/list-sessions.ts';
import { type ShowSessions, showSession } from './sessions/session-messages.ts';
import { createReleaseSession, type ReleaseOptions } from './settlement/release-session.ts';
import type { AdminDependencies } from './shared-dependencies.ts';
import type { Providers } from './slots/provider-connections.ts';
import { createReencryptSecrets, type ReencryptOptions } from './slots/reseal-credentials.ts';
import { createSlots } from './slots/slot-admin.ts';
import { createTestSlot } from './slots/test-connection.ts';
import { listUsage } from './usage/list-usage.ts';
import { summarizeUsage } from './usage/sum-by-day.ts';

export type PaymentAdminServiceOptions = AdminDependencies &
  Omit<ReplayOptions, 'callbacks'> &
  ReleaseOptions &
  ReencryptOptions & { readonly providers: Providers; readonly showSessions: ShowSessions };

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createPaymentAdminService(
  options: PaymentAdminServiceOptions,
): ServiceImpl<typeof PaymentAdminService> {
  const { db } = options;
  const slots = createSlots(options);
  const testSlot = createTestSlot(slots, options.providers);
  const feeRules = createFeeRules(options);
  const backtestFees = createFeeBacktest(options);
  const fitFeeRule = createFitFeeRule(options);
  const callbacks = createCallbacks(options);
  const replayCallback = createReplayCallback({ ...options, callbacks });
  const sessions = createSessions(db);
  const releaseSession = createReleaseSession(options);
  const duplicates = createDuplicates(options);
  const reencryptSecrets = createReencryptSecrets(options);
  return {
    listGateways: () => ({ gateways: DRIVERS.map(gatewayToProto) }),

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
      const { id: slotId, gateway } = await slots.get(slot);
      const [minor, currency] = [amount?.minorUnits ?? 0n, amount?.currency ?? ''];
      checkAmount({ minor, currency });
      // As if the payment were settled now.
      const payment = { gateway, slotId, amount: { minor, currency }, at: options.clock() };
      const { lines, totalMinor } = await computeFees(db.pool, payment);
      return {
        fees: lines.map((line) => feeLineToProto(line, currency)),
        feeTotal: moneyToProto({ minor: totalMinor, currency }),
      };
    },

    async backtestFeeRule(request, context) {
      const period = readPeriod(request, 'from', 'to');
      return backtestFees(feeRuleFromProto(request.rule), period, isLimited(context));
    },

    async fitFeeRule(request) {
      const period = readPeriod(request, 'from', 'to');
      return { fits: await fitFeeRule(feeRuleFromProto(request.rule), period) };
    },

    async auditFees(request) {
      const period = readPeriod(request, 'settledFrom', 'settledTo');
      return { drifts: await auditFees(db, request.slot, period) };
    },

    async listCallbacks(request) {
      const filter = { ...request, state: nameOf(CALLBACK_STATES, request.state) };
      const { items, nextPageToken } = await callbacks.list(filter, request);
      return { callbacks: items.map(callbackToProto), nextPageToken };
    },

    async getCallback({ callbackId }) {
      const { callback, verifications } = await callbacks.get(callbackId);
      return { callback: callbackToProto(callback), verifications: verifications.map(verificationToProto) };
    },

    async replayCallback({ callbackId }, context) {
      return { callback: callbackToProto(await replayCallback(callbackId, actorOf(context))) };
    },

    async releaseChargeSession({ sessionId, reason }, context) {
      const { unchanged } = await releaseSession(sessionId, reason, actorOf(context));
      const session = await sessions.get(sessionId);
      return { session: await showSession(options.showSessions, session), unchanged };
    },

    async listDuplicatePayments(request) {
      const { items, nextPageToken } = await duplicates.list(request, request);
      return { duplicatePayments: items.map(duplicateToProto), nextPageToken };
    },

    async resolveDuplicatePayment({ duplicatePaymentId: id, resolution }, context) {
      const { duplicate, unchanged } = await duplicates.resolve(id, resolution, actorOf(context));
      return { duplicatePayment: duplicateToProto(duplicate), unchanged };
    },

    async listUsageLogs(request) {
      const filter = { slot: request.slot, ...readPeriod(request, 'settledFrom', 'settledTo') };
      const { items, nextPageToken } = await listUsage(db, filter, request);
      return { usageLogs: items.map(usageLogToProto), nextPageToken };
    },

    async summarizeUsage(request) {
      const period = readPeriod(request, 'settledFrom', 'settledTo');
      return { days: await summarizeUsage(db, request.slot, period) };
    },

    async reencryptSecrets(_request, context) {
      const { resealed, masterKeyId } = await reencryptSecrets(actorOf(context));
      return { resealed, masterKeyId };
    },
  };
}

function authorOf(context: HandlerContext): FeeAuthor {
  return { actor: actorOf(context), isLimited: isLimited(context) };
}
