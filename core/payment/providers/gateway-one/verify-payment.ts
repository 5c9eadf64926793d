// Verifies payments at gateway_one: compares transaction, amount and currency with the session.
import { formatMoney, type Money, MoneyError, parseMoney, sameMoney } from '../../money.ts';
import {
  type ExpectedPayment,
  type PaymentDriver,
  type ProviderAccess,
  ProviderUnavailable,
  type Risk,
  type Verdict,
} from '../driver.ts';
import {
  type Answer,
  addressOf,
  describeVerdict,
  optionalId,
  optionalText,
  readAnswer,
  readMoney,
  readObject,
  recordStep,
  requiredId,
  requiredText,
} from '../driver-calls.ts';

/** The path of the transaction query, and of the requests and queries of refunds. */
export const QUERY_PATH = '/validator/api/merchantTransIDvalidationAPI.php';

const QUERY_TIMEOUT_MS = 15_000;
/** Shorter, because the query follows in the same verification lease and settles the session too. */
const VALIDATION_TIMEOUT_MS = 8_000;

/** The provider expects the parameters, including the store's password, in the query of the URL. */
export function sendQuery(
  access: ProviderAccess,
  path: string,
  about: Record<string, string>,
  timeoutMs = QUERY_TIMEOUT_MS,
): Promise<Answer> {
  const parameters = new URLSearchParams({ ...about, ...store(access), v: '1', format: 'json' });
  const url = `${addressOf(access.baseUrl, path)}?${parameters}`;
  return call(access, { method: 'GET', url, timeoutMs });
}

/** @throws ProviderUnavailable */
export async function call(
  { http }: ProviderAccess,
  request: Parameters<ProviderAccess['http']['send']>[0],
): Promise<Answer> {
  const { status, body } = await http.send(request);
  if (status !== 200) throw new ProviderUnavailable(`the provider answered with HTTP ${status}`);
  return readAnswer(body);
}

/**
 * At most two calls. A validation id that proves the payment settles without the second. Otherwise, even if
 * the validation API does not answer, the query by our own transaction id decides, so a forged id hides no
 * payment.
 */
export const verify: PaymentDriver['verify'] = async (access, expected) => {
  const { validationId, isPaid } = expected;
  const validated = validationId && !isPaid ? await tryValidation(access, expected, validationId) : undefined;
  const answered = validated instanceof ProviderUnavailable ? undefined : validated;
  if (answered?.kind === 'paid') return answered;
  const found = await query(access, expected);
  if (found.kind !== 'pending') return found;
  // The id may be genuine and the query not up to date: the callbacks wait for the next verification.
  if (validated instanceof ProviderUnavailable) throw validated;
  return answered?.kind === 'mismatch' ? answered : found;
};

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

/** Asks for all attempts to pay a session. */
export function query(access: ProviderAccess, expected: ExpectedPayment): Promise<Verdict> {
  const fields = { tran_id: expected.merchantTransactionId };
  const judge = async () => judgeQuery(await sendQuery(access, QUERY_PATH, fields), expected);
  return recordStep(access, 'query', judge, describeVerdict);
}

export function store({ credentials }: ProviderAccess): { store_id: string; store_passwd: string } {
  const { storeId = '', storePassword = '' } = credentials.reveal();
  return { store_id: storeId, store_passwd: storePassword };
}

export const STANDING = new Set(['VALID', 'VALIDATED']);
// The only statuses of a payment that was made and no longer stands. A partial refund has none.
const REVERSED = new Set(['REFUNDED', 'REVERSED', 'CHARGEBACK']);
const NOT_PAID: ReadonlyMap<string, 'failed' | 'cancelled'> = new Map([
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
  ['EXPIRED', 'cancelled'],
]);

/**
 * The provider's complaint about the request: an `APIConnect` other than DONE. Undefined if there is none.
 */
export function complaintOf(answer: Answer): string | undefined {
  const connect = optionalText(answer, 'APIConnect') ?? 'DONE';
  return connect === 'DONE'
    ? undefined
    : `the provider does not accept the store's credentials (APIConnect ${connect})`;
}

/** The answer of the validation API about one validation id. @throws ProviderUnavailable */
export function judgeValidation(answer: Answer, expected: ExpectedPayment): Verdict {
  requireConnected(answer);
  if (requiredText(answer, 'status') !== 'INVALID_TRANSACTION') return judgeTransaction(answer, expected);
  return { kind: 'mismatch', detail: 'the provider knows no payment with this validation id' };
}

/**
 * The answer of the query by transaction id, which lists all attempts to pay it. One standing payment is
 * enough. Without one, an unreadable attempt might be it, and an attempt in progress outweighs failed ones.
 *
 * @throws ProviderUnavailable
 */
export function judgeQuery(answer: Answer, expected: ExpectedPayment): Verdict {
  requireConnected(answer);
  const found: Verdict[] = [];
  let unreadable: ProviderUnavailable | undefined;
  for (const transaction of elementsOf(answer)) {
    try {
      found.push(judgeTransaction(readObject(transaction, 'a transaction'), expected));
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      unreadable = error;
    }
  }
  const first = (kind: Verdict['kind']): Verdict | undefined =>
    found.find((verdict) => verdict.kind === kind);
  const paid = first('paid');
  if (paid === undefined && unreadable !== undefined) throw unreadable;
  return (
    paid ??
    first('mismatch') ??
    first('reversed') ??
    first('pending') ??
    first('not_paid') ?? { kind: 'pending', detail: 'the provider has no transaction with this id yet' }
  );
}

/** @throws ProviderUnavailable if the provider complains about the request */
export function requireConnected(answer: Answer): void {
  const complaint = complaintOf(answer);
  if (complaint !== undefined) throw new ProviderUnavailable(complaint);
}

/** All transactions of the answer. The count, a number or text, matters only if the list is missing. */
export function elementsOf(answer: Answer): readonly unknown[] {
  const { element } = answer;
  if (Array.isArray(element)) return element;
  if (element == null && requiredText(answer, 'no_of_trans_found') === '0') return [];
  throw new ProviderUnavailable('"element" of the answer is not a list');
}

function judgeTransaction(transaction: Answer, expected: ExpectedPayment): Verdict {
  const status = requiredText(transaction, 'status');
  if (STANDING.has(status) || REVERSED.has(status)) {
    if (requiredText(transaction, 'tran_id') !== expected.merchantTransactionId) {
      return { kind: 'mismatch', detail: `the provider says ${status} of another transaction` };
    }
    const amount = amountOf(transaction);
    const detail = `the provider says ${status}: ${formatMoney(amount)}`;
    if (!sameMoney(amount, expected.amount)) {
      return { kind: 'mismatch', detail: `${detail}, not ${formatMoney(expected.amount)}` };
    }
    if (REVERSED.has(status)) return { kind: 'reversed', detail };
    const gatewayTransactionId = requiredId(transaction, 'val_id');
    const bankTransactionId = optionalId(transaction, 'bank_tran_id');
    const risk = riskOf(transaction);
    const received = receivedOf(transaction);
    return {
      kind: 'paid',
      gatewayTransactionId,
      ...(bankTransactionId && { bankTransactionId }),
      ...(risk && { risk }),
      ...(received && { received }),
      detail,
    };
  }
  const isOurs = optionalText(transaction, 'tran_id') === expected.merchantTransactionId;
  const end = isOurs ? NOT_PAID.get(status) : undefined;
  const detail = `the provider says ${status}${isOurs ? '' : ' of another transaction'}`;
  return end === undefined ? { kind: 'pending', detail } : { kind: 'not_paid', status: end, detail };
}

/** The amount in the customer's currency; `amount` may be converted to the store's currency. */
export function amountOf(transaction: Answer): Money {
  const amount = optionalText(transaction, 'currency_amount');
  const currency = optionalText(transaction, 'currency_type');
  if (amount !== undefined && currency !== undefined) return readMoney(amount, currency);
  return readMoney(requiredText(transaction, 'amount'), requiredText(transaction, 'currency'));
}

/**
 * What the store receives, in its own currency. Undefined if the answer has no readable amount, which does
 * not invalidate the payment.
 */
function receivedOf({ store_amount: amount, currency }: Answer): Money | undefined {
  if (typeof amount !== 'string' || typeof currency !== 'string') return undefined;
  try {
    return parseMoney(amount, currency);
  } catch (error) {
    if (error instanceof MoneyError) return undefined;
    throw error;
  }
}

const MAX_TITLE_CHARACTERS = 100;

/** Undefined if the answer has no readable rating, which does not invalidate the payment. */
function riskOf({ risk_level: level, risk_title: title }: Answer): Risk | undefined {
  if (typeof level !== 'string' || !/^\d{1,4}$/.test(level)) return undefined;
  const words = typeof title === 'string' ? title.slice(0, MAX_TITLE_CHARACTERS) : '';
  return { level: Number(level), title: words };
}
