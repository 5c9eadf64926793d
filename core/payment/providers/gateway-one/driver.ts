// gateway_one: a hosted checkout with an instant payment notification.
import {
  type CallbackClaim,
  type CallbackFields,
  CallbackMalformed,
  type PaymentDriver,
  ProviderRefused,
  RISKY_PAYMENTS,
  RISKY_PAYMENTS_VALUES,
} from '../driver.ts';
import { recordStep, redactSecrets } from '../driver-calls.ts';
import { createCheckout } from './checkout.ts';
import { findPayments } from './find-payments.ts';
import { refunds } from './refunds.ts';
import { complaintOf, QUERY_PATH, sendQuery, verify } from './verify-payment.ts';

const OUTCOMES: ReadonlyMap<string, CallbackClaim['outcome']> = new Map([
  ['VALID', 'paid'],
  ['VALIDATED', 'paid'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
]);
const READS = ['status', 'tran_id', 'val_id', 'sessionkey'] as const;
/** Fields that operators need for inquiries of a customer or the provider about a payment. */
const SHOWS = [
  'amount',
  'currency_amount',
  'currency_type',
  'bank_tran_id',
  'card_type',
  'tran_date',
  'risk_level',
  'risk_title',
  'error',
] as const;
type Read = CallbackFields<(typeof READS)[number]>;

export const gatewayOne: PaymentDriver = redactSecrets({
  gateway: 'gateway_one',
  callback: {
    method: 'POST',
    acknowledgement: { body: '{"message":"received"}', contentType: 'application/json' },
    reads: READS,
    paymentField: 'val_id',
    checkoutFields: ['sessionkey'],
    shows: SHOWS,
    // One credential, and digests over the other.
    unjournaled: ['store_id', 'verify_sign', 'verify_sign_sha2'],
  },
  credentials: ['storeId', 'storePassword'],
  options: { [RISKY_PAYMENTS]: RISKY_PAYMENTS_VALUES },
  productionUrls: ['https://securepay.sslcommerz.com'],

  readCallback(fields: Read) {
    const status = requiredField(fields, 'status');
    const { val_id: validationId, sessionkey: providerPaymentId } = fields;
    return {
      outcome: OUTCOMES.get(status) ?? 'ignored',
      status,
      merchantTransactionId: requiredField(fields, 'tran_id'),
      ...(providerPaymentId && { providerPaymentId }),
      ...(validationId && { validationId }),
    };
  },

  createCheckout,
  verify,
  findPayments,
  refunds,

  testCredentials: (access) =>
    recordStep(
      access,
      'query',
      async () => {
        const complaint = complaintOf(await sendQuery(access, QUERY_PATH, { tran_id: 'credentials-test' }));
        if (complaint !== undefined) throw new ProviderRefused(complaint);
        return { detail: 'the provider accepts the credentials of the store' };
      },
      ({ detail }) => ({ outcome: 'pending', detail }),
    ),
});

function requiredField(fields: Read, field: keyof Read): string {
  const value = fields[field] ?? '';
  if (value === '') throw new CallbackMalformed(field, `${field} is required and must not be empty`);
  return value;
}
