// gateway_one's answers: which of them settle a session.
import { expect } from 'chai';
import { ProviderUnavailable } from '../../../../../core/payment/providers/driver.ts';
import {
  judgeQuery,
  judgeValidation,
} from '../../../../../core/payment/providers/gateway-one/verify-payment.ts';
import { transaction } from '../sample-answers.ts';
import { expectedPayment } from '../test-access.ts';

describe('a validation by gateway_one', () => {
  const judge = (changes: Record<string, unknown>, about = expectedPayment()) =>
    judgeValidation(transaction(changes), about);

  for (const status of ['VALID', 'VALIDATED']) {
    it(`settles by ${status}, with the provider's own validation id and the bank's`, () => {
      expect(judge({ status })).to.deep.equal({
        kind: 'paid',
        gatewayTransactionId: '2611211200001zTk5W3rlDPbwn4',
        bankTransactionId: '26112112000015pM4yYw',
        risk: { level: 0, title: 'Safe' },
        received: { minor: 9_750n, currency: 'BDT' },
        detail: `the provider says ${status}: 100.00 BDT`,
      });
    });
  }

  it("compares the customer's amount, not the store's credit", () => {
    const inDollars = { amount: '11900.00', currency: 'BDT', currency_amount: '100', currency_type: 'USD' };
    const amount = { minor: 10_000n, currency: 'USD' };
    expect(judge(inDollars, expectedPayment({ amount })).kind).to.equal('paid');
    expect(judge(inDollars).kind).to.equal('mismatch');
  });

  it("has the store's amount in the store's currency, if it is readable", () => {
    const inDollars = { amount: '11900.00', currency: 'BDT', currency_amount: '100', currency_type: 'USD' };
    const amount = { minor: 10_000n, currency: 'USD' };
    const dollars = judge({ ...inDollars, store_amount: '11602.51' }, expectedPayment({ amount }));
    expect(dollars).to.deep.include({ received: { minor: 1_160_251n, currency: 'BDT' } });
    const unreadable = [
      { store_amount: undefined },
      { store_amount: '' },
      { store_amount: '97.505' },
      { store_amount: '-1' },
      { store_amount: ['97.5'] },
      { currency: '' },
      { currency: 'taka' },
    ];
    for (const changes of unreadable) {
      const verdict = judge(changes);
      expect(verdict, JSON.stringify(changes)).to.include({ kind: 'paid' }).and.not.have.property('received');
    }
  });

  it('compares amount and currency if the provider returns no others', () => {
    expect(judge({ currency_amount: undefined, currency_type: undefined }).kind).to.equal('paid');
    expect(judge({ currency_amount: '', currency_type: '', amount: '99' }).kind).to.equal('mismatch');
  });

  const mismatches = {
    'another transaction': { tran_id: '01K7ANOTHER' },
    'a transaction id in another case': { tran_id: '01k7transaction' },
    'an amount one minor unit short': { currency_amount: '99.99' },
    'an amount one minor unit over': { currency_amount: '100.01' },
    'another currency': { currency_type: 'USD' },
  };
  for (const [what, changes] of Object.entries(mismatches)) {
    it(`does not settle by ${what}`, () => {
      expect(judge(changes).kind).to.equal('mismatch');
      expect(judge({ ...changes, status: 'VALIDATED' }).kind).to.equal('mismatch');
    });
  }

  it('does not settle by a validation id that is unknown to the provider', () => {
    expect(
      judgeValidation({ status: 'INVALID_TRANSACTION', APIConnect: 'DONE' }, expectedPayment()).kind,
    ).to.equal('mismatch');
  });

  const unreadable = {
    'no transaction id': { tran_id: undefined },
    'no validation id': { val_id: '' },
    'no status': { status: null },
    'a status that is no text': { status: ['VALID'] },
    'an amount that is no amount': { currency_amount: '1,000.00' },
    'more decimals than the currency has': { currency_amount: '100.001' },
    'a currency that is none': { currency_type: 'taka' },
    'a refusal of the question': { APIConnect: 'INVALID_REQUEST' },
  };
  for (const [what, changes] of Object.entries(unreadable)) {
    it(`is inconclusive with ${what}`, () => {
      expect(() => judge(changes)).to.throw(ProviderUnavailable);
    });
  }
});

describe('a query of gateway_one', () => {
  const judge = (...elements: unknown[]) =>
    judgeQuery(
      { APIConnect: 'DONE', no_of_trans_found: String(elements.length), element: elements },
      expectedPayment(),
    );
  const attempt = (status: string, changes: Record<string, unknown> = {}) =>
    transaction({ status, ...changes });

  it('settles by one valid attempt among several, in any position', () => {
    const others = [
      attempt('FAILED'),
      attempt('CANCELLED'),
      attempt('PENDING'),
      attempt('VALID', { tran_id: 'X' }),
      7,
    ];
    for (let place = 0; place <= others.length; place++) {
      expect(judge(...others.toSpliced(place, 0, attempt('VALIDATED'))).kind).to.equal('paid');
    }
  });

  it('ignores the count', () => {
    const answer = { APIConnect: 'DONE', element: [attempt('VALID')] };
    for (const count of ['0', '1', undefined]) {
      expect(judgeQuery({ ...answer, no_of_trans_found: count }, expectedPayment()).kind).to.equal('paid');
    }
  });

  it('leaves a session open if the provider has no transaction of it', () => {
    expect(judge().kind).to.equal('pending');
    expect(judgeQuery({ APIConnect: 'DONE', no_of_trans_found: '0' }, expectedPayment()).kind).to.equal(
      'pending',
    );
  });

  it('is inconclusive without a list of transactions', () => {
    for (const element of [undefined, {}, 'none']) {
      const answer = { APIConnect: 'DONE', no_of_trans_found: '1', element };
      expect(() => judgeQuery(answer, expectedPayment())).to.throw(
        ProviderUnavailable,
        '"element" of the answer is not a list',
      );
    }
  });

  it("counts an unreadable attempt as the session's, until one settles", () => {
    expect(() => judge(attempt('FAILED'), attempt('VALID', { currency_amount: 'x' }))).to.throw(
      ProviderUnavailable,
    );
    expect(() => judge('VALID')).to.throw(ProviderUnavailable, 'a transaction is not a JSON object');
  });

  it('does not fail a session during an attempt', () => {
    expect(judge(attempt('FAILED'), attempt('PENDING')).kind).to.equal('pending');
    expect(judge(attempt('FAILED'), attempt('UNATTEMPTED')).kind).to.equal('pending');
    expect(judge(attempt('SOMETHING_NEW')).kind).to.equal('pending');
  });

  it('fails a session when all attempts have failed', () => {
    expect(judge(attempt('FAILED'))).to.include({ kind: 'not_paid', status: 'failed' });
    expect(judge(attempt('CANCELLED'))).to.include({ kind: 'not_paid', status: 'cancelled' });
    expect(judge(attempt('EXPIRED'))).to.include({ kind: 'not_paid', status: 'cancelled' });
  });

  it('does not fail a session by the failure of another transaction', () => {
    expect(judge(attempt('FAILED', { tran_id: '01K7ANOTHER' })).kind).to.equal('pending');
  });

  for (const status of ['REFUNDED', 'REVERSED', 'CHARGEBACK']) {
    it(`reads ${status} as a reversal, unless another attempt is valid`, () => {
      expect(judge(attempt(status)).kind).to.equal('reversed');
      expect(judge(attempt(status), attempt('VALID')).kind).to.equal('paid');
      expect(judge(attempt(status, { currency_amount: '1.00' })).kind).to.equal('mismatch');
    });
  }

  it('does not read a partial refund, a failure or silence as a reversal', () => {
    for (const elements of [
      [attempt('PARTIALLY_REFUNDED')],
      [attempt('FAILED')],
      [attempt('CANCELLED')],
      [],
    ]) {
      expect(judge(...elements).kind).to.not.equal('reversed');
    }
  });
});
