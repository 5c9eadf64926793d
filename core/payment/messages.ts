// Converts between the payment module's types and the messages of its contract.

import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { GatewaySchema } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import {
  type CallbackSchema,
  type ChargeSessionSchema,
  type DuplicatePaymentSchema,
  type FeeLineSchema,
  type FeeRule as FeeRuleMessage,
  type FeeRuleSchema,
  type MoneySchema,
  type PurchaseSchema,
  SlotEnvironment,
  type SlotSchema,
  type StatusChangeSchema,
  type UsageLogSchema,
  type VerificationSchema,
} from '../../gen/hub/payment/v1/payment_pb.ts';
import type { RefundSchema } from '../../gen/hub/payment/v1/refund_pb.ts';
import {
  CALLBACK_STATES,
  CHARGE_STATUSES,
  FEE_RULE_STATES,
  REFUND_KINDS,
  REFUND_ORIGINS,
  REFUND_STATES,
  USAGE_KINDS,
} from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import { readTimestamp, timestampsIn } from '../timestamp.ts';
import type {
  ChargeSession,
  DuplicatePayment,
  Environment,
  FeeLine,
  FeeRule,
  Refund,
  Slot,
  Verification,
} from './entities.ts';
import type { FeeTerms } from './fees/check-fee-terms.ts';
import type { FeePeriod, FeeRuleWithState } from './fees/rule-versions.ts';
import type { Money } from './money.ts';
import type { PaymentDriver, VerificationStep } from './providers/driver.ts';
import type { StatusChange, TracedCallback } from './settlement/status-history.ts';
import type { UsageLogWithFees } from './usage/list-usage.ts';
import type { Period } from './usage/query-sums.ts';

export function moneyToProto({ minor, currency }: Money): MessageInitShape<typeof MoneySchema> {
  return { minorUnits: minor, currency };
}

export function gatewayToProto(driver: PaymentDriver): MessageInitShape<typeof GatewaySchema> {
  const { gateway, credentials, options, productionUrls } = driver;
  return {
    gateway,
    credentials: [...credentials],
    options: Object.entries(options).map(([name, values]) => ({ name, values: [...values] })),
    productionUrls: [...productionUrls],
  };
}

/** Requires a populated slot. */
export function sessionToProto(
  session: ChargeSession,
  purchase?: MessageInitShape<typeof PurchaseSchema>,
): MessageInitShape<typeof ChargeSessionSchema> {
  return {
    sessionId: formatId('chs', session.id),
    slot: session.slot.name,
    gateway: session.slot.gateway,
    status: CHARGE_STATUSES[session.status],
    amount: moneyToProto({ minor: session.amountMinor, currency: session.currency }),
    orderReference: session.orderReference,
    customer: session.customer,
    metadata: session.metadata,
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId ?? '',
    checkoutUrl: session.checkoutUrl ?? '',
    gatewayTransactionId: session.gatewayTransactionId ?? '',
    statusVerified: session.statusVerified,
    statusReason: session.statusReason,
    ...timestampsIn(session, 'createdAt', 'statusChangedAt', 'heldAt'),
    ...(session.riskLevel != null && { riskLevel: session.riskLevel }),
    riskTitle: session.riskTitle ?? '',
    ...(session.riskReleasedAt && { releasedAt: timestampFromDate(session.riskReleasedAt) }),
    returnUrl: session.returnUrl ?? '',
    language: session.language ?? '',
    ...(purchase && { purchase }),
    ...(session.refundedMinor > 0n && {
      refunded: moneyToProto({ minor: session.refundedMinor, currency: session.currency }),
    }),
  };
}

export function statusChangeToProto(change: StatusChange): MessageInitShape<typeof StatusChangeSchema> {
  return {
    at: timestampFromDate(change.at),
    from: CHARGE_STATUSES[change.from],
    to: CHARGE_STATUSES[change.to],
    verified: change.verified,
    reason: change.reason,
    callbackId: change.callbackId ?? '',
  };
}

export function callbackToProto(traced: TracedCallback): MessageInitShape<typeof CallbackSchema> {
  const { callback, replayedAt, sessionStatus } = traced;
  return {
    callbackId: formatId('cb', callback.id),
    gateway: callback.gateway,
    sessionId: callback.session ? formatId('chs', callback.session.id) : '',
    state: CALLBACK_STATES[callback.state],
    fields: callback.fields,
    attempts: callback.attempts,
    reason: callback.reason,
    ...timestampsIn(callback, 'receivedAt', 'finishedAt'),
    replayedAt: replayedAt.map(timestampFromDate),
    ...(sessionStatus && { sessionStatus: CHARGE_STATUSES[sessionStatus] }),
  };
}

/** A stored provider call, or one that was just made. */
type VerificationFacts = Omit<VerificationStep, 'outcome'> &
  Pick<Verification, 'outcome'> &
  Partial<Pick<Verification, 'callback'>>;

export function verificationToProto(facts: VerificationFacts): MessageInitShape<typeof VerificationSchema> {
  const { operation, outcome, detail, askedAt, durationMs, callback } = facts;
  const callbackId = callback ? formatId('cb', callback.id) : '';
  return { operation, outcome, detail, askedAt: timestampFromDate(askedAt), durationMs, callbackId };
}

/** Requires a populated slot. */
export function usageLogToProto(entry: UsageLogWithFees): MessageInitShape<typeof UsageLogSchema> {
  const { usageLog, fees, reversedAt } = entry;
  const { currency } = usageLog;
  return {
    usageLogId: formatId('use', usageLog.id),
    kind: USAGE_KINDS[usageLog.kind],
    sessionId: formatId('chs', usageLog.session.id),
    reversesUsageLogId: usageLog.reverses ? formatId('use', usageLog.reverses) : '',
    slot: usageLog.slot.name,
    gateway: usageLog.gateway,
    gatewayTransactionId: usageLog.gatewayTransactionId,
    amount: moneyToProto({ minor: usageLog.amountMinor, currency }),
    fees: fees.map((line) => feeLineToProto(line, currency)),
    feeTotal: moneyToProto({ minor: usageLog.feeTotalMinor, currency }),
    ...(usageLog.receivedMinor != null && {
      received: moneyToProto({
        minor: usageLog.receivedMinor,
        currency: usageLog.receivedCurrency ?? currency,
      }),
    }),
    orderReference: usageLog.orderReference,
    settledAt: timestampFromDate(usageLog.settledAt),
    ...(reversedAt && { reversedAt: timestampFromDate(reversedAt) }),
  };
}

/** Requires a populated slot. */
export function duplicateToProto(
  duplicate: DuplicatePayment,
): MessageInitShape<typeof DuplicatePaymentSchema> {
  const { amountMinor, currency } = duplicate;
  return {
    duplicatePaymentId: formatId('dup', duplicate.id),
    sessionId: formatId('chs', duplicate.session.id),
    slot: duplicate.slot.name,
    gateway: duplicate.gateway,
    gatewayTransactionId: duplicate.gatewayTransactionId,
    bankTransactionId: duplicate.bankTransactionId ?? '',
    providerPaymentId: duplicate.providerPaymentId,
    amount: moneyToProto({ minor: amountMinor, currency }),
    ...timestampsIn(duplicate, 'foundAt', 'resolvedAt'),
    resolution: duplicate.resolution,
  };
}

/** Requires a populated slot. */
export function refundToProto(refund: Refund): MessageInitShape<typeof RefundSchema> {
  const { amountMinor, currency } = refund;
  return {
    refundId: formatId('rfd', refund.id),
    sessionId: formatId('chs', refund.session.id),
    slot: refund.slot.name,
    gateway: refund.gateway,
    kind: REFUND_KINDS[refund.kind],
    origin: REFUND_ORIGINS[refund.origin],
    amount: moneyToProto({ minor: amountMinor, currency }),
    reason: refund.reason,
    state: REFUND_STATES[refund.state],
    stateReason: refund.stateReason,
    gatewayRefundId: refund.gatewayRefundId ?? '',
    ...timestampsIn(refund, 'createdAt', 'finishedAt', 'reviewedAt'),
    reviewReason: refund.reviewReason,
    resolution: refund.resolution,
  };
}

export function feeLineToProto(
  { rule, ruleVersion, amountMinor }: Pick<FeeLine, 'rule' | 'ruleVersion' | 'amountMinor'>,
  currency: string,
): MessageInitShape<typeof FeeLineSchema> {
  return { rule, ruleVersion, amount: moneyToProto({ minor: amountMinor, currency }) };
}

/** Requires a populated slot. */
export function feeRuleToProto({ rule, state }: FeeRuleWithState): MessageInitShape<typeof FeeRuleSchema> {
  return {
    feeRuleId: formatId('fee', rule.id),
    name: rule.name,
    version: rule.version,
    gateway: rule.gateway ?? '',
    slot: rule.slot?.name ?? '',
    currency: rule.currency ?? '',
    ...formulaToProto(rule),
    ...timestampsIn(rule, 'validFrom', 'validTo'),
    slotsMayOverride: rule.slotsMayOverride,
    addedBySlot: rule.addedBySlot,
    state: FEE_RULE_STATES[state],
  };
}

type Formula = Pick<FeeRule, 'basisPoints' | 'fixedMinor' | 'minMinor' | 'maxMinor'>;

export function formulaToProto({ basisPoints, fixedMinor, minMinor, maxMinor }: Formula) {
  return {
    basisPoints,
    fixedMinorUnits: fixedMinor,
    ...(minMinor != null && { minMinorUnits: minMinor }),
    ...(maxMinor != null && { maxMinorUnits: maxMinor }),
  };
}

/** Contract validation guarantees that the request has a rule. */
export function feeRuleFromProto(rule: FeeRuleMessage | undefined): FeeTerms & FeePeriod {
  return {
    name: rule?.name ?? '',
    gateway: rule?.gateway ?? '',
    slot: rule?.slot ?? '',
    currency: rule?.currency ?? '',
    basisPoints: rule?.basisPoints ?? 0,
    fixedMinor: rule?.fixedMinorUnits ?? 0n,
    minMinor: rule?.minMinorUnits ?? null,
    maxMinor: rule?.maxMinorUnits ?? null,
    slotsMayOverride: rule?.slotsMayOverride ?? false,
    validFrom: rule?.validFrom && readTimestamp('validFrom', rule.validFrom),
    validTo: rule?.validTo && readTimestamp('validTo', rule.validTo),
  };
}

export function slotToProto(slot: Slot): MessageInitShape<typeof SlotSchema> {
  return {
    slotId: formatId('slot', slot.id),
    name: slot.name,
    gateway: slot.gateway,
    environment: slot.environment === 'production' ? SlotEnvironment.PRODUCTION : SlotEnvironment.SANDBOX,
    baseUrl: slot.baseUrl,
    options: slot.options,
    returnOrigins: slot.returnOrigins,
    ...timestampsIn(slot, 'createdAt', 'rotatedAt', 'disabledAt'),
  };
}

/** Contract validation rejects UNSPECIFIED. */
export function environmentFromProto(environment: SlotEnvironment): Environment {
  return environment === SlotEnvironment.PRODUCTION ? 'production' : 'sandbox';
}

/** The period between the times in two fields of a request, which are named as in JSON. */
export function readPeriod<F extends string, T extends string>(
  request: { readonly [name in NoInfer<F | T>]?: Timestamp | undefined },
  from: F,
  to: T,
): Period {
  const [begin, end] = [request[from], request[to]];
  return { from: begin && readTimestamp(from, begin), to: end && readTimestamp(to, end) };
}
