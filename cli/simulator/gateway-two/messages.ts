// Messages of gateway_two: parsed request bodies, response envelopes, and payments in query responses.
import { parseObject } from '../../../lib/json-object.ts';
import { shortAmount } from '../amount.ts';
import type { Payment } from '../payment.ts';
import { type JsonAnswer, ok } from '../provider.ts';

export const SUCCESSFUL = { statusCode: '0000', statusMessage: 'Successful' };
export const UNAUTHORIZED: JsonAnswer = { status: 401, json: { message: 'Unauthorized' } };
export const EXPIRED_TOKEN: JsonAnswer = { status: 401, json: { message: 'The incoming token has expired' } };
export const BAD_APP_KEY = refused('2001', 'Invalid App Key');
export const TOO_MANY_GRANTS = ok({
  errorCode: '2003',
  errorMessage: 'Process failed: too many tokens were granted',
});

export function refused(statusCode: string, statusMessage: string): JsonAnswer {
  return ok({ statusCode, statusMessage });
}

const TOLD_STATE = {
  initiated: 'Initiated',
  authorized: 'Initiated', // only execute completes it
  paid: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  reversed: 'Reversed',
  expired: 'Cancelled',
  declined: 'Failed',
} as const;

/** A payment in a query response. */
export function told({ ref, state, proof, amount, merchantTransactionId, createdAt }: Payment) {
  return {
    paymentID: ref,
    ...(proof !== undefined && { trxID: proof }),
    transactionStatus: TOLD_STATE[state],
    userVerificationStatus: state === 'initiated' ? 'Incomplete' : 'Complete',
    amount: shortAmount(amount),
    currency: amount.currency,
    intent: 'sale',
    merchantInvoice: merchantTransactionId,
    paymentCreateTime: createdAt.toISOString(),
  };
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The body's members; none if it is not a JSON object. */
export function parsed(body: string): Readonly<Record<string, unknown>> {
  return parseObject(body) ?? {};
}
