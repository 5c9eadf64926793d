// The parsing of providers' answers.
import { expect } from 'chai';
import { ProviderUnavailable } from '../../../../core/payment/providers/driver.ts';
import {
  optionalText,
  readAnswer,
  readCheckoutUrl,
  readMoney,
  requiredText,
} from '../../../../core/payment/providers/driver-calls.ts';

describe('the answer of a provider', () => {
  it('keeps numbers as the text that was sent', () => {
    const answer = readAnswer('{"amount": 90071992547409.93, "count": 1, "list": [{"n": 100.10}]}');
    expect(answer).to.deep.equal({ amount: '90071992547409.93', count: '1', list: [{ n: '100.10' }] });
  });

  it('converts numbers to money without floating point', () => {
    const answer = readAnswer('{"amount": 100.00000000000000001}');
    expect(() => readMoney(requiredText(answer, 'amount'), 'BDT')).to.throw(ProviderUnavailable);
  });

  const broken = {
    'an empty body': '',
    blanks: ' \n',
    HTML: '<!doctype html><title>Maintenance</title>',
    'JSON that is cut off': '{"status":"VALID","tran_id":"01K',
    'a list': '[{"status":"VALID"}]',
    'a text': '"VALID"',
    null: 'null',
    'two objects': '{}{}',
    'JSON with a trailing comma': '{"status":"VALID",}',
    'lists within lists without end': '['.repeat(200_000),
    'a very deep object': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  };
  for (const [what, body] of Object.entries(broken)) {
    it(`is refused if it is ${what}`, () => {
      expect(() => readAnswer(body)).to.throw(ProviderUnavailable, /the provider's answer is (empty|not)/);
    });
  }

  it('does not appear in the error', () => {
    expect(() => readAnswer('<p>store_passwd=hunter2</p>'))
      .to.throw()
      .with.property('message')
      .not.include('hunter2');
  });

  it('may lack optional members: absent, null and empty are equal', () => {
    const answer = readAnswer('{"empty": "", "nothing": null}');
    for (const name of ['absent', 'empty', 'nothing']) {
      expect(optionalText(answer, name)).to.equal(undefined);
      expect(() => requiredText(answer, name)).to.throw(ProviderUnavailable, `has no "${name}"`);
    }
  });

  for (const value of ['true', '{}', '[]', '["VALID"]']) {
    it(`has no text in ${value}`, () => {
      expect(() => optionalText(readAnswer(`{"status": ${value}}`), 'status')).to.throw(
        ProviderUnavailable,
        '"status" of the answer is not text',
      );
    });
  }

  for (const decimal of ['1e2', '-1', '1,000.00', 'abc', '100.001', '99999999999999999999']) {
    it(`has no amount in ${decimal}`, () => {
      expect(() => readMoney(decimal, 'BDT')).to.throw(ProviderUnavailable, 'has no amount of money');
    });
  }

  it('accepts only http and https addresses for customers', () => {
    const read = (url: string) => readCheckoutUrl({ url }, 'url');
    expect(read('https://pay.example/c?x=1')).to.equal('https://pay.example/c?x=1');
    for (const url of ['javascript:alert(1)', 'data:text/html,x', '//pay.example', 'pay']) {
      expect(() => read(url)).to.throw(ProviderUnavailable, 'is not an http or https URL');
    }
  });
});
