// gateway_one: a hosted checkout with an instant payment notification.
import {
  type CallbackClaim,
  type CallbackFields,
  CallbackMalformed,
  type ExpectedPayment,
  type PaymentDriver,
  type ProviderAccess,
  ProviderRefused,
  ProviderUnavailable,
  RISKY_PAYMENTS,
  RISKY_PAYMENTS_VALUES,
  type Verdict,
} from '../driver.ts';
import { describeVerdict, recordStep, redactSecrets } from '../driver-calls.ts';
import { complaintOf, judgeValidation, QUERY_PATH, query, readPayments, sendQuery } from './calls.ts';
import { createCheckout } from './checkout.ts';
import { refunds } from './refunds.ts';

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
/** Shorter, because the query follows in the same verification lease and settles the session too. */
const VALIDATION_TIMEOUT_MS = 8_000;

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

  /**
   * At most two calls. A validation id that proves the payment settles without the second. Otherwise, even if
   * the validation API does not answer, the query by our own transaction id decides, so a forged id hides no
   * payment.
   */
  async verify(access, expected) {
    const { validationId, isPaid } = expected;
    const validated =
      validationId && !isPaid ? await tryValidation(access, expected, validationId) : undefined;
    const answered = validated instanceof ProviderUnavailable ? undefined : validated;
    if (answered?.kind === 'paid') return answered;
    const found = await query(access, expected);
    if (found.kind !== 'pending') return found;
    // The id may be genuine and the query not up to date: the callbacks wait for the next verification.
    if (validated instanceof ProviderUnavailable) throw validated;
    return answered?.kind === 'mismatch' ? answered : found;
  },

  findPayments: (access, search) =>
    recordStep(
      access,
      'query',
      async () => {
        const answer = await sendQuery(access, QUERY_PATH, { tran_id: search.merchantTransactionId });
        return { payments: readPayments(answer, search), unanswered: new Map() };
      },
      ({ payments }) => ({
        outcome: payments.length > 0 ? 'paid' : 'pending',
        detail: `valid payments: ${payments.length}`,
      }),
    ),

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

const VALIDATION_PATH = '/validator/api/validationserverAPI.php';

/** Resolves with the error if the validation API does not answer about the id. */
function tryValidation(
  access: ProviderAccess,
  expected: ExpectedPayment,
  validationId: string,
): Promise<Verdict | ProviderUnavailable> {
  const about = { val_id: validationId };
  const judge = async () =>
    judgeValidation(await sendQuery(access, VALIDATION_PATH, about, VALIDATION_TIMEOUT_MS), expected);
  return recordStep(access, 'validate', judge, describeVerdict).catch((error: unknown) => {
    if (error instanceof ProviderUnavailable) return error;
    throw error;
  });
}

function requiredField(fields: Read, field: keyof Read): string {
  const value = fields[field] ?? '';
  if (value === '') throw new CallbackMalformed(field, `${field} is required and must not be empty`);
  return value;
}
