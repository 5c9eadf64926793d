// gateway_two's answers: which payments settle a session.
import { expect } from 'chai';
import { ProviderUnavailable, type Verdict } from '../../../../../core/payment/providers/driver.ts';
import { type Reply, readReply } from '../../../../../core/payment/providers/gateway-two/answers.ts';
import {
  judgeExecution,
  judgeQuery,
} from '../../../../../core/payment/providers/gateway-two/verify-payment.ts';
import { payment } from '../sample-answers.ts';
import { expectedPayment } from '../test-access.ts';

const reply = (body: unknown, status = 200): Reply => readReply(status, JSON.stringify(body));
const code = (statusCode: string): Reply => reply({ statusCode, statusMessage: 'Said so' });

const judges: Record<string, (reply: Reply) => Verdict> = {
  execute: (answer) => judgeExecution(answer, expectedPayment()),
  query: (answer) => judgeQuery(answer, expectedPayment()),
};
for (const [operation, judge] of Object.entries(judges)) {
  const judged = (changes: Record<string, unknown>) => judge(reply(payment(changes)));

  describe(`the answer of gateway_two to ${operation}`, () => {
    it('settles by a completed payment that matches the session', () => {
      expect(judged({})).to.deep.equal({
        kind: 'paid',
        gatewayTransactionId: 'BKL30A9ULZ',
        detail: 'the provider says Completed: 100.00 BDT',
      });
    });

    it('accepts either spelling of payment id and invoice', () => {
      expect(judged({ paymentID: undefined, paymentId: 'PAY-1' }).kind).to.equal('paid');
      expect(judged({ merchantInvoiceNumber: undefined, merchantInvoice: '01K7TRANSACTION' }).kind).to.equal(
        'paid',
      );
      expect(() => judged({ paymentId: 'PAY-2' })).to.throw(ProviderUnavailable, 'differ');
    });

    const mismatches = {
      'another payment': { paymentID: 'PAY-2' },
      'another invoice': { merchantInvoiceNumber: '01K7ANOTHER' },
      'an amount one minor unit short': { amount: '99.99' },
      'another currency': { currency: 'USD' },
    };
    for (const [what, changes] of Object.entries(mismatches)) {
      it(`does not settle by ${what}`, () => {
        expect(judged(changes).kind).to.equal('mismatch');
      });
    }

    const unreadable = {
      'no payment id': { paymentID: undefined },
      'no invoice': { merchantInvoiceNumber: '' },
      'no amount': { amount: null },
      'an amount that is no amount': { amount: '1e2' },
      'no currency': { currency: undefined },
      'no transaction id': { trxID: '' },
      'no transaction status': { transactionStatus: undefined },
      'a transaction status that is no text': { transactionStatus: true },
      'the end of another payment': { paymentID: 'PAY-2', transactionStatus: 'Cancelled' },
    };
    for (const [what, changes] of Object.entries(unreadable)) {
      it(`is inconclusive with ${what}`, () => {
        expect(() => judged(changes)).to.throw(ProviderUnavailable);
      });
    }

    it('leaves a payment open that the customer can still make', () => {
      expect(judged({ transactionStatus: 'Initiated', trxID: undefined }).kind).to.equal('pending');
      expect(judged({ transactionStatus: 'Something new' }).kind).to.equal('pending');
    });

    it('fails a payment that failed', () => {
      expect(judged({ transactionStatus: 'Cancelled' })).to.include({
        kind: 'not_paid',
        status: 'cancelled',
      });
      expect(judged({ transactionStatus: 'Expired' })).to.include({ kind: 'not_paid', status: 'cancelled' });
      expect(judged({ transactionStatus: 'Failed' })).to.include({ kind: 'not_paid', status: 'failed' });
      expect(judged({ transactionStatus: 'Declined' })).to.include({ kind: 'not_paid', status: 'failed' });
    });

    it('reports a reversal of this payment', () => {
      expect(judged({ transactionStatus: 'Refunded' }).kind).to.equal('reversed');
      expect(judged({ transactionStatus: 'Reversed' }).kind).to.equal('reversed');
      expect(judged({ transactionStatus: 'Reversed', paymentID: 'PAY-2' }).kind).to.equal('mismatch');
    });

    for (const final of ['2002', '2014', '2015', '2023']) {
      it(`fails a payment by ${final}`, () => {
        expect(judge(code(final))).to.include({ kind: 'not_paid', status: 'failed' });
      });
    }

    for (const transient of ['2003', '2020', '2024', '503']) {
      it(`is inconclusive with ${transient}`, () => {
        expect(() => judge(code(transient))).to.throw(
          ProviderUnavailable,
          `the provider answered ${transient} Said so`,
        );
      });
    }

    it('does not take HTTP 200 alone as a success', () => {
      const bare = payment({ statusCode: undefined });
      expect(outcomeOf(() => judge(reply(bare)))).to.not.equal('paid');
      expect(outcomeOf(() => judge(reply(payment({ statusCode: '0' }))))).to.not.equal('paid');
      expect(outcomeOf(() => judge(reply(payment({ errorCode: '0000', statusCode: '2056' }))))).to.not.equal(
        'paid',
      );
    });
  });
}

describe('the answer of gateway_two to execute', () => {
  for (const open of ['2062', '2068', '2116', '2117', '2119', '2056', '2060', '9999']) {
    it(`requires a query after ${open}, in any envelope`, () => {
      expect(judgeExecution(code(open), expectedPayment()).kind).to.equal('pending');
      const error = reply({ errorCode: open, errorMessage: 'Said so' });
      expect(judgeExecution(error, expectedPayment())).to.deep.equal({
        kind: 'pending',
        detail: `the provider answered ${open} Said so`,
      });
    });
  }

  it('requires a query after a bare message', () => {
    const bare = reply({ message: 'Endpoint request timed out' });
    expect(judgeExecution(bare, expectedPayment()).detail).to.equal(
      'the provider answered HTTP 200 Endpoint request timed out',
    );
  });
});

describe('the answer of gateway_two to the query', () => {
  for (const unheardOf of ['2056', '2062', '9999']) {
    it(`is inconclusive with ${unheardOf}`, () => {
      expect(() => judgeQuery(code(unheardOf), expectedPayment())).to.throw(ProviderUnavailable);
    });
  }
});

function outcomeOf(judge: () => Verdict): string {
  try {
    return judge().kind;
  } catch (error) {
    return (error as Error).name; // thrown by our own code
  }
}
