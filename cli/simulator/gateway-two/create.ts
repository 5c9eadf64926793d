// gateway_two's create: validates the request and opens a payment.
import { randomBytes } from 'node:crypto';
import { parseAmount } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import type { Payment } from '../payment.ts';
import { type Call, isWebAddress, type JsonAnswer, ok } from '../provider.ts';
import { parsed, refused, SUCCESSFUL, text } from './messages.ts';

export function createPayment(
  { body }: Call,
  merchant: string,
  ledger: Ledger,
  checkoutUrl: (ref: string) => string,
): JsonAnswer {
  const fields = parsed(body);
  const complaint = complaintOf(fields);
  if (complaint !== undefined) return refused('2065', complaint);
  const amount = parseAmount(text(fields['amount']), text(fields['currency']));
  if (amount === undefined) return refused('2006', 'Invalid Amount');
  const invoice = text(fields['merchantInvoiceNumber']);
  if (ledger.ofMerchant('gateway_two', invoice).some(({ state }) => TAKEN.includes(state))) {
    return refused('2029', 'Duplicate for All Transactions');
  }
  const callback = text(fields['callbackURL']);
  const ref = `TR${randomBytes(12).toString('hex').toUpperCase()}`;
  const returnUrls = {
    paid: returnUrl(callback, ref, 'success'),
    failed: returnUrl(callback, ref, 'failure'),
    cancelled: returnUrl(callback, ref, 'cancel'),
  };
  const payment = ledger.open(
    {
      gateway: 'gateway_two',
      merchantTransactionId: invoice,
      amount,
      merchant,
      description: text(fields['payerReference']),
      notifyUrl: undefined,
      returnUrls,
      echo: {},
    },
    ref,
  );
  return ok({
    ...SUCCESSFUL,
    paymentID: ref,
    bkashURL: checkoutUrl(ref),
    callbackURL: callback,
    successCallbackURL: returnUrls.paid,
    failureCallbackURL: returnUrls.failed,
    cancelledCallbackURL: returnUrls.cancelled,
    amount: fields['amount'],
    currency: amount.currency,
    intent: 'sale',
    paymentCreateTime: payment.createdAt.toISOString(),
    transactionStatus: 'Initiated',
    merchantInvoiceNumber: invoice,
  });
}

const REQUIRED = 'mode payerReference callbackURL amount currency intent merchantInvoiceNumber'.split(' ');

/** The error of an invalid request, or undefined. */
function complaintOf(fields: Readonly<Record<string, unknown>>): string | undefined {
  const missing = REQUIRED.find((name) => text(fields[name]) === '');
  if (missing !== undefined) return `Mandatory field ${missing} is missing`;
  if (fields['mode'] !== '0011') return 'mode must be 0011';
  if (fields['intent'] !== 'sale') return 'intent must be sale';
  return isWebAddress(text(fields['callbackURL'])) ? undefined : 'callbackURL is not an address';
}

/** The states of a payment whose invoice has been or may be paid. */
const TAKEN: readonly Payment['state'][] = ['authorized', 'paid', 'reversed'];

function returnUrl(callback: string, paymentId: string, status: string): string {
  const url = new URL(callback);
  url.searchParams.append('paymentID', paymentId);
  url.searchParams.append('status', status);
  url.searchParams.append('apiVersion', '1.2.0-beta');
  url.searchParams.append('signature', randomBytes(6).toString('base64url'));
  return url.href;
}
