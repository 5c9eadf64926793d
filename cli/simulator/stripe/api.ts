// Stripe's API: checkout sessions, payment intents, charges, refunds and disputes.
import type { Ledger } from '../ledger.ts';
import { type Payment, SimulatorError } from '../payment.ts';
import { type Call, isWebAddress, type JsonAnswer, type Operation, ok, type Provider } from '../provider.ts';
import { type RefundOrder, refundFaults } from '../refunds.ts';
import type { Account } from './account.ts';
import { fromApi } from './amounts.ts';
import { chargeId, chargeObject, disputeObject, intentId, intentObject, listObject } from './objects.ts';

export function createStripe(secretKey: string, ledger: Ledger, account: Account): Provider {
  const answers = new Map<string, { readonly body: string; readonly answer: JsonAnswer }>();

  /** Checks the key, and answers a repeated request as before. */
  const guarded = (operation: Operation): Operation => {
    const guard = (call: Call, answer: (call: Call) => JsonAnswer): JsonAnswer => {
      const { authorization, 'idempotency-key': key } = call.headers;
      if (authorization !== `Bearer ${secretKey}`) return complaint(401, 'Invalid API Key provided');
      if (call.method !== 'POST' || typeof key !== 'string') return answer(call);
      const earlier = answers.get(key);
      if (earlier === undefined) {
        const made = answer(call);
        if (made.status < 500) answers.set(key, { body: call.body, answer: made });
        return made;
      }
      if (earlier.body === call.body) return earlier.answer;
      return {
        status: 400,
        json: { error: { type: 'idempotency_error', message: 'Keys are for one request' } },
      };
    };
    const faults = Object.entries(operation.faults ?? {}).map(([kind, own]) => [
      kind,
      (call: Call, fault: Parameters<typeof own>[1]) => guard(call, (checked) => own(checked, fault)),
    ]);
    return {
      ...operation,
      answer: (call) => guard(call, operation.answer),
      faults: Object.fromEntries(faults),
    };
  };

  return {
    operations: [...sessionOperations(account), ...paymentOperations(ledger, account)].map(guarded),
    callback(payment, { outcome }) {
      const checkout = account.checkouts.get(payment.ref);
      // A declined card and a customer who goes back leave the session open: Stripe sends no event.
      return outcome === 'paid' && checkout ? account.sessionEvent(checkout, 'completed') : undefined;
    },
    forgery: account.forgery,
  };
}

function sessionOperations(account: Account): readonly Operation[] {
  const ofPath = ({ path }: Call) => account.checkouts.get(path.split('/').at(5) ?? '');
  const retrieve = (call: Call): JsonAnswer => {
    const checkout = ofPath(call);
    if (checkout === undefined) return complaint(404, 'No such checkout.session', 'resource_missing');
    return ok(
      account.session(checkout, call.query.getAll('expand[0]').concat(call.query.getAll('expand[1]'))),
    );
  };

  const create = ({ body }: Call): JsonAnswer => {
    const form = new URLSearchParams(body);
    const text = (name: string) => form.get(name) ?? '';
    const item = 'line_items[0][price_data]';
    const amount = fromApi(text(`${item}[unit_amount]`), text(`${item}[currency]`));
    const [success, cancel] = [text('success_url'), text('cancel_url')];
    if (text('mode') !== 'payment') return complaint(400, 'You must provide a mode');
    if (amount === undefined) return complaint(400, 'Invalid unit_amount or currency');
    if (text(`${item}[product_data][name]`) === '') return complaint(400, 'Missing product_data[name]');
    if (!isWebAddress(success) || !isWebAddress(cancel)) return complaint(400, 'Not a valid URL');
    const email = form.get('customer_email');
    if (email !== null && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email))
      return complaint(400, `Invalid email ${email}`);
    const checkout = account.open(
      { amount, description: text(`${item}[product_data][name]`), urls: [success, cancel] },
      {
        clientReference: form.get('client_reference_id'),
        metadata: metadataIn(form),
        customer: { email: email ?? 'customer@example.com', name: 'Simulated Customer' },
        price: undefined,
        quantity: 1,
      },
    );
    return ok(account.session(checkout));
  };

  const expire = (call: Call): JsonAnswer => {
    const checkout = ofPath(call);
    if (checkout === undefined) return complaint(404, 'No such checkout.session', 'resource_missing');
    try {
      account.controls.expire(checkout.payment.ref);
      return ok(account.session(checkout));
    } catch (error) {
      return refusal(error);
    }
  };

  const find = (call: Call) => ofPath(call)?.payment;
  const path = '/v1/checkout/sessions';
  return [
    { name: 'stripe.create', at: `POST ${path}`, answer: create },
    {
      name: 'stripe.list',
      at: `GET ${path}`,
      answer: () =>
        ok(
          listObject(
            [...account.checkouts.values()].slice(-1).map((each) => account.session(each)),
            path,
          ),
        ),
    },
    {
      name: 'stripe.retrieve',
      at: `GET ${path}/{id}`,
      find,
      answer: retrieve,
      faults: {
        wrong_transaction: (call) => {
          const { status, json } = retrieve(call);
          return { status, json: { ...json, id: 'cs_test_another' } };
        },
      },
    },
    { name: 'stripe.expire', at: `POST ${path}/{id}/expire`, find, answer: expire },
  ];
}

function paymentOperations(ledger: Ledger, account: Account): readonly Operation[] {
  const { refunds } = ledger;
  const checkouts = () => [...account.checkouts.values()];
  const byIntent = (id: string | null) => checkouts().find(({ payment }) => intentId(payment) === id);
  const ofPath = ({ path }: Call): Payment | undefined => {
    const id = path.split('/').at(4);
    return checkouts().find(({ payment }) => intentId(payment) === id || chargeId(payment) === id)?.payment;
  };
  const ofForm = ({ body }: Call) => byIntent(new URLSearchParams(body).get('payment_intent'));
  const ofQuery = ({ query }: Call) => byIntent(query.get('payment_intent'));

  const refund = (call: Call, progress?: RefundOrder['progress']): JsonAnswer => {
    const form = new URLSearchParams(call.body);
    const checkout = ofForm(call);
    if (checkout === undefined) return complaint(404, 'No such payment_intent', 'resource_missing');
    const { payment } = checkout;
    const text = form.get('amount');
    const amount = text === null ? undefined : fromApi(text, payment.amount.currency.toLowerCase());
    if (text !== null && amount === undefined) return complaint(400, 'Invalid amount');
    const metadata = metadataIn(form);
    try {
      const about = { reference: metadata['hub_refund'], reason: 'requested', metadata };
      const made = refunds.make(payment, { proof: intentId(payment), amount, ...about, progress });
      return ok(account.refundJson(made));
    } catch (error) {
      return refusal(error);
    }
  };

  const paymentOf = (call: Call, show: (payment: Payment) => JsonAnswer['json']): JsonAnswer => {
    const payment = ofPath(call);
    return payment === undefined ? complaint(404, 'No such object', 'resource_missing') : ok(show(payment));
  };

  return [
    {
      name: 'stripe.payment_intent',
      at: 'GET /v1/payment_intents/{id}',
      find: ofPath,
      answer: (call) => paymentOf(call, intentObject),
    },
    {
      name: 'stripe.charge',
      at: 'GET /v1/charges/{id}',
      find: ofPath,
      answer: (call) => paymentOf(call, (payment) => chargeObject(payment, refunds.refundedMinor(payment))),
    },
    {
      name: 'stripe.refund',
      at: 'POST /v1/refunds',
      find: (call) => ofForm(call)?.payment,
      answer: refund,
      faults: refundFaults(complaint(400, 'Refund is not allowed'), refund),
    },
    {
      name: 'stripe.refunds',
      at: 'GET /v1/refunds',
      find: (call) => ofQuery(call)?.payment,
      answer: (call) => {
        const checkout = ofQuery(call);
        const found = checkout ? refunds.of(checkout.payment).map(account.refundJson) : [];
        return ok(listObject(found.toReversed(), '/v1/refunds'));
      },
    },
    {
      name: 'stripe.disputes',
      at: 'GET /v1/disputes',
      find: (call) => ofQuery(call)?.payment,
      answer: (call) => {
        const checkout = ofQuery(call);
        const found = checkout?.disputes.map((dispute) => disputeObject(checkout.payment, dispute)) ?? [];
        return ok(listObject(found, '/v1/disputes'));
      },
    },
  ];
}

function metadataIn(form: URLSearchParams): Record<string, string> {
  const entries = [...form].flatMap(([name, value]) => {
    const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
    return key === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}

function complaint(status: number, message: string, code?: string): JsonAnswer {
  return { status, json: { error: { type: 'invalid_request_error', message, ...(code && { code }) } } };
}

function refusal(error: unknown): JsonAnswer {
  if (error instanceof SimulatorError) return complaint(400, error.message);
  throw error;
}
