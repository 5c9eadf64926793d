// gateway_one: a hosted checkout with notifications, a validation API and a transaction query.
import { randomBytes } from 'node:crypto';
import { formatAmount, inTaka, lessProviderFee, parseAmount, shortAmount } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import type { Attempt, Payment } from '../payment.ts';
import { type Call, isWebAddress, type JsonAnswer, ok, type Provider } from '../provider.ts';
import type { Refunds } from '../refunds.ts';
import { forgedFields, notificationFields, providerTime, type Store } from './notification.ts';
import { refundOperations } from './refunds.ts';

/** @param checkoutUrl The URL of the checkout page of a session key. */
export function createGatewayOne(
  store: Store,
  ledger: Ledger,
  checkoutUrl: (ref: string) => string,
): Provider {
  const isStore = (fields: URLSearchParams) =>
    fields.get('store_id') === store.storeId && fields.get('store_passwd') === store.storePassword;
  const ofProof = ({ query }: Call) => ledger.byProof(query.get('val_id') ?? '');
  const ofTransaction = ({ query }: Call) =>
    ledger.ofMerchant('gateway_one', query.get('tran_id') ?? '').toReversed();
  const ofSession = ({ query }: Call) => {
    const payment = ledger.byRef(query.get('sessionkey') ?? '');
    return payment?.gateway === 'gateway_one' ? payment : undefined;
  };

  const initiate = ({ body }: Call): JsonAnswer => {
    const form = new URLSearchParams(body);
    const reason = isStore(form) ? complaint(form) : 'Store Credential Error Or Store is De-active';
    if (reason !== undefined) return refused(reason);
    const text = (name: string) => form.get(name) ?? '';
    const amount = parseAmount(text('total_amount'), text('currency'));
    if (amount === undefined) return refused('Invalid total_amount or currency');
    const merchantTransactionId = text('tran_id');
    if (ledger.ofMerchant('gateway_one', merchantTransactionId).some(({ proof }) => proof !== undefined)) {
      return refused('Duplicate tran_id: it is paid');
    }
    const payment = ledger.open(
      {
        gateway: 'gateway_one',
        merchantTransactionId,
        amount,
        merchant: store.storeId,
        description: text('product_name'),
        notifyUrl: form.get('ipn_url') || undefined,
        returnUrls: { paid: text('success_url'), failed: text('fail_url'), cancelled: text('cancel_url') },
        echo: Object.fromEntries([...form].filter(([name]) => /^value_[a-d]$/.test(name))),
      },
      randomBytes(16).toString('hex').toUpperCase(),
    );
    const GatewayPageURL = checkoutUrl(payment.ref);
    return ok({ status: 'SUCCESS', failedreason: '', sessionkey: payment.ref, GatewayPageURL });
  };

  const validate = (call: Call): JsonAnswer => {
    if (!isStore(call.query)) return ok({ APIConnect: 'INVALID_REQUEST', status: 'INVALID_TRANSACTION' });
    const found = ofProof(call);
    if (found === undefined || found.payment.state === 'reversed') {
      return ok({ APIConnect: 'DONE', status: 'INVALID_TRANSACTION' });
    }
    const answer = attemptFields(ledger, found.payment, found.attempt);
    found.attempt.validated = true;
    return ok({ APIConnect: 'DONE', ...answer });
  };

  const query = (call: Call): JsonAnswer => {
    if (!isStore(call.query)) return ok({ APIConnect: 'INVALID_REQUEST' });
    if (call.query.has('sessionkey')) {
      const payment = ofSession(call);
      if (payment === undefined) return ok({ APIConnect: 'DONE', status: 'INVALID_TRANSACTION' });
      return ok({ APIConnect: 'DONE', ...attemptFields(ledger, payment, payment.attempts.at(-1)) });
    }
    const element = ofTransaction(call).flatMap((payment) =>
      payment.attempts.toReversed().map((attempt) => attemptFields(ledger, payment, attempt)),
    );
    return ok({ APIConnect: 'DONE', no_of_trans_found: `${element.length}`, element });
  };

  return {
    operations: [
      { name: 'gateway_one.initiate', at: 'POST /gwprocess/v4/api.php', answer: initiate },
      {
        name: 'gateway_one.validate',
        at: 'GET /validator/api/validationserverAPI.php',
        find: (call) => ofProof(call)?.payment,
        answer: validate,
      },
      ...refundOperations(ledger, isStore),
      {
        name: 'gateway_one.query',
        at: 'GET /validator/api/merchantTransIDvalidationAPI.php',
        find: (call) => ofSession(call) ?? ofTransaction(call)[0],
        answer: query,
      },
    ],
    callback: (payment, attempt) => posted(payment, notificationFields(payment, attempt, store)),
    forgery: (payment, claim) => posted(payment, forgedFields(payment, claim, store)),
  };
}

const REQUIRED = `tran_id total_amount currency success_url fail_url cancel_url product_category product_name
  product_profile shipping_method cus_name cus_email cus_add1 cus_city cus_country cus_phone`.split(/\s+/);

/** The error of an invalid request to initiate, in the provider's wording. */
function complaint(form: URLSearchParams): string | undefined {
  const missing = REQUIRED.find((name) => !form.get(name));
  if (missing !== undefined) return `Invalid Information: ${missing} is missing`;
  if ((form.get('tran_id') ?? '').length > 30) return 'Invalid Information: tran_id is longer than 30';
  const wrong = ['success_url', 'fail_url', 'cancel_url', 'ipn_url'].find((name) => {
    const address = form.get(name);
    return address && (address.length > 255 || !isWebAddress(address));
  });
  return wrong && `Invalid Information: ${wrong} is not an address of at most 255 characters`;
}

function refused(failedreason: string): JsonAnswer {
  return ok({ status: 'FAILED', failedreason, sessionkey: '', GatewayPageURL: '' });
}

/**
 * A payment in validation and query responses: every number is a string. Without an attempt it is pending.
 */
function attemptFields(
  { refunds }: Ledger,
  payment: Payment,
  attempt: Attempt | undefined,
): Record<string, string> {
  const { amount, rate } = inTaka(payment.amount);
  return {
    status: statusOf(refunds, payment, attempt),
    sessionkey: payment.ref,
    tran_date: providerTime(attempt?.at ?? payment.createdAt),
    tran_id: payment.merchantTransactionId,
    ...(attempt?.proof !== undefined && { val_id: attempt.proof }),
    amount: shortAmount(amount),
    store_amount: formatAmount(lessProviderFee(amount)),
    currency: amount.currency,
    currency_type: payment.amount.currency,
    currency_amount: formatAmount(payment.amount),
    currency_rate: rate,
    bank_tran_id: attempt?.bankId ?? '',
    card_type: 'VISA-Simulated',
    risk_level: '0',
    risk_title: 'Safe',
    ...payment.echo,
  };
}

function statusOf(refunds: Refunds, payment: Payment, attempt: Attempt | undefined): string {
  if (attempt === undefined) return 'PENDING';
  if (attempt.outcome !== 'paid') return attempt.outcome.toUpperCase();
  if (payment.state === 'reversed') return 'REVERSED';
  // A refund of a part does not show.
  if (refunds.isRefunded(payment, attempt.proof ?? '')) return 'REFUNDED';
  return attempt.validated ? 'VALIDATED' : 'VALID';
}

function posted({ notifyUrl }: Payment, fields: Record<string, string>) {
  return notifyUrl === undefined
    ? undefined
    : ({ method: 'POST', url: notifyUrl, body: new URLSearchParams(fields).toString() } as const);
}
