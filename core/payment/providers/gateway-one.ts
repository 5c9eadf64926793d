// gateway_one: a hosted checkout with an instant payment notification.
import { formatDecimal } from '../money.ts';
import {
  type CallbackClaim,
  type CallbackFields,
  CallbackMalformed,
  type CheckoutRequest,
  type PaymentDriver,
  type ProviderAccess,
  ProviderRefused,
  ProviderUnavailable,
  type Verdict,
  type VerificationQuestion,
} from '../provider.ts';
import { type Answer, readAnswer } from './answer.ts';
import { discreet } from './discreet.ts';
import { complaintOf, judgeQuery, judgeValidation, readCheckout } from './gateway-one-answers.ts';
import { noted } from './noted.ts';

const OUTCOMES: ReadonlyMap<string, CallbackClaim['outcome']> = new Map([
  ['VALID', 'paid'],
  ['VALIDATED', 'paid'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
]);
const READS = ['status', 'tran_id', 'val_id'] as const;
type Read = CallbackFields<(typeof READS)[number]>;
const QUESTION_TIMEOUT_MS = 15_000;

export const gatewayOne: PaymentDriver = discreet({
  gateway: 'gateway_one',
  callback: {
    method: 'POST',
    acknowledgement: { body: '{"message":"received"}', contentType: 'application/json' },
    reads: READS,
    // A credential, and digests over the other.
    unjournaled: ['store_id', 'verify_sign', 'verify_sign_sha2'],
  },
  credentials: ['storeId', 'storePassword'],
  options: {},
  productionUrls: ['https://securepay.sslcommerz.com'],

  readCallback(fields: Read) {
    const status = requiredField(fields, 'status');
    const proof = fields.val_id;
    return {
      outcome: OUTCOMES.get(status) ?? 'ignored',
      status,
      merchantTransactionId: requiredField(fields, 'tran_id'),
      ...(proof && { proof }),
    };
  },

  createCheckout: (access, checkout) =>
    noted(
      access,
      'initiate',
      async () =>
        readCheckout(
          await call(access, {
            method: 'POST',
            url: addressOf(access, '/gwprocess/v4/api.php'),
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: new URLSearchParams({ ...store(access), ...checkoutForm(checkout) }).toString(),
          }),
        ),
      () => ({ outcome: 'pending', detail: 'the provider made a checkout' }),
    ),

  /**
   * A validation id only says where to look first. What it does not prove is asked again by our own transaction id, so
   * that a forged one neither settles a session nor hides that it is paid.
   */
  async verify(access, question) {
    const { proof, settled } = question;
    const validated = proof && !settled ? await validate(access, question, proof) : undefined;
    if (validated?.kind === 'paid') return validated;
    const found = await query(access, question);
    return validated?.kind === 'mismatch' && found.kind === 'pending' ? validated : found;
  },

  testCredentials: (access) =>
    noted(
      access,
      'query',
      async () => {
        const complaint = complaintOf(await ask(access, QUERY_PATH, { tran_id: 'credentials-test' }));
        if (complaint !== undefined) throw new ProviderRefused(complaint);
        return { detail: 'the provider accepts the credentials of the store' };
      },
      ({ detail }) => ({ outcome: 'pending', detail }),
    ),
});

const VALIDATION_PATH = '/validator/api/validationserverAPI.php';
const QUERY_PATH = '/validator/api/merchantTransIDvalidationAPI.php';

function validate(access: ProviderAccess, question: VerificationQuestion, proof: string): Promise<Verdict> {
  const judge = async () => judgeValidation(await ask(access, VALIDATION_PATH, { val_id: proof }), question);
  return noted(access, 'validate', judge, ({ kind, detail }) => ({ outcome: kind, detail }));
}

function query(access: ProviderAccess, question: VerificationQuestion): Promise<Verdict> {
  const fields = { tran_id: question.merchantTransactionId };
  const judge = async () => judgeQuery(await ask(access, QUERY_PATH, fields), question);
  return noted(access, 'query', judge, ({ kind, detail }) => ({ outcome: kind, detail }));
}

/** The provider takes its questions, and the store's password with them, in the query of the URL. */
function ask(access: ProviderAccess, path: string, about: Record<string, string>): Promise<Answer> {
  const parameters = new URLSearchParams({ ...about, ...store(access), v: '1', format: 'json' });
  const url = `${addressOf(access, path)}?${parameters}`;
  return call(access, { method: 'GET', url, timeoutMs: QUESTION_TIMEOUT_MS });
}

async function call(
  { http }: ProviderAccess,
  request: Parameters<ProviderAccess['http']['send']>[0],
): Promise<Answer> {
  const { status, body } = await http.send(request);
  if (status !== 200) throw new ProviderUnavailable(`the provider answered with HTTP ${status}`);
  return readAnswer(body);
}

function addressOf({ baseUrl }: ProviderAccess, path: string): string {
  return baseUrl.replace(/\/+$/, '') + path;
}

function store({ credentials }: ProviderAccess): { store_id: string; store_passwd: string } {
  const { storeId = '', storePassword = '' } = credentials.reveal();
  return { store_id: storeId, store_passwd: storePassword };
}

/**
 * The provider insists on every customer field; what is not known is given a neutral value. It sends the customer's
 * browser back with the same fields as its notification, so all addresses are the callback's: if the notification is
 * lost, the customer brings it.
 */
function checkoutForm({
  sessionId,
  merchantTransactionId,
  amount,
  callbackUrl,
  orderReference,
  customer,
}: CheckoutRequest) {
  return {
    total_amount: formatDecimal(amount),
    currency: amount.currency,
    tran_id: merchantTransactionId,
    ipn_url: callbackUrl,
    success_url: callbackUrl,
    fail_url: callbackUrl,
    cancel_url: callbackUrl,
    product_name: orderReference || 'Order',
    product_category: 'general',
    product_profile: 'general',
    num_of_item: '1',
    shipping_method: 'NO',
    cus_name: customer.name || 'Customer',
    cus_email: customer.email || 'customer@example.com',
    cus_phone: customer.phone || '0000000000',
    cus_add1: customer.address || 'Not given',
    cus_city: customer.city || 'Not given',
    cus_postcode: customer.postcode || '0000',
    cus_country: customer.country || 'Bangladesh',
    value_a: sessionId,
  };
}

function requiredField(fields: Read, field: keyof Read): string {
  const value = fields[field] ?? '';
  if (value === '') throw new CallbackMalformed(field, `${field} is required, and may not be empty`);
  return value;
}
