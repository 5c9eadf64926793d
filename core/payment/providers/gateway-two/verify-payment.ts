// Verifies payments at gateway_two: executes what the customer authorized, and compares payment, invoice,
// amount and currency with the session.
import { formatMoney, sameMoney } from '../../money.ts';
import {
  type ExpectedPayment,
  type PaymentDriver,
  type ProviderAccess,
  ProviderUnavailable,
  type Verdict,
} from '../driver.ts';
import {
  type Answer,
  asUnavailable,
  describeVerdict,
  readMoney,
  requiredId,
  requiredText,
} from '../driver-calls.ts';
import { FINAL_CODES, invoiceOf, isDone, paymentIdOf, type Reply, TRANSIENT_CODES } from './answers.ts';
import { accessToken, callAuthorized, paymentBody, queryPayment } from './calls.ts';

const EXECUTE_TIMEOUT_MS = 30_000;
const NOT_PAID: ReadonlyMap<string, 'failed' | 'cancelled'> = new Map([
  ['Cancelled', 'cancelled'],
  ['Expired', 'cancelled'],
  ['Failed', 'failed'],
  ['Failure', 'failed'],
  ['Declined', 'failed'],
]);
const REVERSED = new Set(['Refunded', 'Reversed', 'Charged Back']);

export const verify: PaymentDriver['verify'] = (access, expected) => {
  if (expected.providerPaymentId === '') {
    return Promise.resolve({ kind: 'pending', detail: 'the provider has not created a checkout' });
  }
  return asUnavailable(() => (expected.isPaid ? query(access, expected) : executeAndQuery(access, expected)));
};

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

/** Queries the payment of a session. */
export function query(access: ProviderAccess, expected: ExpectedPayment): Promise<Verdict> {
  const read = (reply: Reply) => judgeQuery(reply, expected);
  return queryPayment(access, expected.providerPaymentId, { read, note: describeVerdict });
}

/**
 * The answer to execute. Pending means that it leaves open whether the payment was executed, now or before
 * (2062, 2068, 2116, 2117, 2119), or could not be judged (2056, 2060, unknown codes): the query decides.
 *
 * @throws ProviderUnavailable
 */
export function judgeExecution(reply: Reply, expected: ExpectedPayment): Verdict {
  if (isDone(reply)) return judgePayment(reply.answer, expected);
  if (reply.code !== undefined && TRANSIENT_CODES.has(reply.code))
    throw new ProviderUnavailable(`the provider answered ${reply.summary}`);
  return notPaid(reply) ?? { kind: 'pending', detail: `the provider answered ${reply.summary}` };
}

/** The answer to the query. @throws ProviderUnavailable */
export function judgeQuery(reply: Reply, expected: ExpectedPayment): Verdict {
  if (isDone(reply)) return judgePayment(reply.answer, expected);
  const verdict = notPaid(reply);
  if (verdict === undefined) throw new ProviderUnavailable(`the provider answered ${reply.summary}`);
  return verdict;
}

function notPaid({ code = '', summary }: Reply): Verdict | undefined {
  const meaning = FINAL_CODES.get(code);
  if (meaning === undefined) return undefined;
  return { kind: 'not_paid', status: 'failed', detail: `the provider answered ${summary}: ${meaning}` };
}

function judgePayment(answer: Answer, expected: ExpectedPayment): Verdict {
  const status = requiredText(answer, 'transactionStatus');
  const detail = `the provider says ${status}`;
  const wasPaid = status === 'Completed' || REVERSED.has(status);
  if (!wasPaid) {
    // Nothing moved, so only the payment has to be the right one for the answer to count.
    if (paymentIdOf(answer) !== expected.providerPaymentId) {
      throw new ProviderUnavailable('the provider answered about another payment');
    }
    const end = NOT_PAID.get(status);
    return end === undefined ? { kind: 'pending', detail } : { kind: 'not_paid', status: end, detail };
  }
  if (paymentIdOf(answer) !== expected.providerPaymentId) {
    return { kind: 'mismatch', detail: `${detail} of another payment` };
  }
  if (invoiceOf(answer) !== expected.merchantTransactionId) {
    return { kind: 'mismatch', detail: `${detail} of another invoice` };
  }
  const amount = readMoney(requiredText(answer, 'amount'), requiredText(answer, 'currency'));
  if (!sameMoney(amount, expected.amount)) {
    return {
      kind: 'mismatch',
      detail: `${detail}: ${formatMoney(amount)}, not ${formatMoney(expected.amount)}`,
    };
  }
  if (status !== 'Completed') return { kind: 'reversed', detail };
  const gatewayTransactionId = requiredId(answer, 'trxID');
  return { kind: 'paid', gatewayTransactionId, detail: `${detail}: ${formatMoney(amount)}` };
}
