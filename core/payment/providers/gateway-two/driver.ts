// gateway_two: a tokenised wallet checkout, where money moves when the hub executes what the customer
// authorized.
import {
  type CallbackClaim,
  type CallbackFields,
  CallbackMalformed,
  type ExpectedPayment,
  type PaymentDriver,
  type ProviderAccess,
  ProviderUnavailable,
  type Verdict,
} from '../driver.ts';
import { asUnavailable, describeVerdict, redactSecrets } from '../driver-calls.ts';
import { judgeExecution } from './answers.ts';
import { accessToken, callAuthorized, paymentBody, query, renewToken } from './calls.ts';
import { createCheckout } from './checkout.ts';
import { findPayments } from './payments.ts';
import { refunds, rootUrl } from './refunds.ts';

const OUTCOMES: ReadonlyMap<string, CallbackClaim['outcome']> = new Map([
  ['', 'unknown'],
  ['success', 'paid'],
  ['failure', 'failed'],
  ['cancel', 'cancelled'],
]);
const READS = ['status', 'paymentID', 'paymentId'] as const;
const EXECUTE_TIMEOUT_MS = 30_000;

export const gatewayTwo: PaymentDriver = redactSecrets({
  gateway: 'gateway_two',
  callback: {
    method: 'GET',
    acknowledgement: { body: 'ok', contentType: 'text/plain; charset=utf-8' },
    isFromBrowser: true,
    reads: READS,
    checkoutFields: ['paymentID', 'paymentId'],
  },
  credentials: ['username', 'password', 'appKey', 'appSecret'],
  // Deployments differ in the name of the payment id in execute and query.
  options: { paymentIdField: ['paymentId', 'paymentID'] },
  productionUrls: ['https://tokenized.pay.bka.sh/v1.2.0-beta/tokenized/checkout'],
  rootUrl,

  readCallback({ status = '', paymentID, paymentId }: CallbackFields<(typeof READS)[number]>) {
    if (paymentID && paymentId && paymentID !== paymentId) {
      throw new CallbackMalformed(
        'paymentID',
        'paymentID and paymentId differ: give one, or both with the same value',
      );
    }
    const providerPaymentId = paymentID || paymentId;
    return {
      outcome: OUTCOMES.get(status) ?? 'ignored',
      status,
      ...(providerPaymentId && { providerPaymentId }),
    };
  },

  createCheckout,

  verify(access, expected) {
    if (expected.providerPaymentId === '') {
      return Promise.resolve({ kind: 'pending', detail: 'the provider has not created a checkout' });
    }
    return asUnavailable(() =>
      expected.isPaid ? query(access, expected) : executeAndQuery(access, expected),
    );
  },

  findPayments,

  refunds,

  async testCredentials(access) {
    await renewToken(access);
    return { detail: 'the provider grants access tokens for the credentials' };
  },
});

/**
 * Executes, then queries if the answer is not final. An execution without a clear answer is never simply
 * repeated.
 */
async function executeAndQuery(access: ProviderAccess, expected: ExpectedPayment): Promise<Verdict> {
  // First, because without a token nothing is executed, and there is nothing to query.
  await accessToken(access);
  let unanswered: ProviderUnavailable | undefined;
  try {
    const executed = await execute(access, expected);
    if (executed.kind !== 'pending') return executed;
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error;
    unanswered = error;
  }
  const found = await query(access, expected);
  // The execution failed, and not because of the customer: another attempt soon may succeed.
  if (found.kind === 'pending' && unanswered !== undefined) throw unanswered;
  return found;
}

function execute(access: ProviderAccess, expected: ExpectedPayment): Promise<Verdict> {
  return callAuthorized(access, {
    operation: 'execute',
    path: '/execute',
    timeoutMs: EXECUTE_TIMEOUT_MS,
    body: paymentBody(access, expected.providerPaymentId),
    read: (reply) => judgeExecution(reply, expected),
    note: describeVerdict,
  });
}
