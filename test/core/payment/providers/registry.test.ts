import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { CallbackMalformed } from '../../../../core/payment/providers/driver.ts';
import { gatewayOne } from '../../../../core/payment/providers/gateway-one/driver.ts';
import {
  DRIVERS,
  keptFields,
  MAX_READ_CHARACTERS,
  MAX_SHOWN_BYTES,
  OTHER_FIELDS,
  parseClaim,
} from '../../../../core/payment/providers/registry.ts';
import { till } from '../fake-gateway.ts';

const kept = (fields: Record<string, string>) => keptFields(gatewayOne.callback, fields);

/** Fields without which a driver refuses a callback. */
const REQUIRED: Readonly<Record<string, Record<string, string>>> = {
  gateway_one: { status: 'VALID', tran_id: 'T' },
  stripe: { type: 'checkout.session.completed' },
};

describe('the fields of a callback', () => {
  it('reach the driver that reads them, and no others', () => {
    const driver = {
      ...till,
      callback: { ...till.callback, reads: ['status', '__proto__'] },
      readCallback: (fields: object) => ({ outcome: 'ignored', status: JSON.stringify(fields) }) as const,
    };
    const fields = JSON.parse('{"amount":"1","status":"s","__proto__":"p","constructor":"c"}');
    expect(parseClaim(driver, fields).status).to.equal('{"status":"s","__proto__":"p"}');
  });

  for (const driver of DRIVERS) {
    for (const field of driver.callback.reads) {
      it(`are refused by name if a field that ${driver.gateway} reads is too long: ${field}`, () => {
        const others = REQUIRED[driver.gateway] ?? {};
        const read = (value: string) => parseClaim(driver, { ...others, [field]: value });
        for (const character of ['x', '𝕏']) {
          expect(() => read(character.repeat(MAX_READ_CHARACTERS))).to.not.throw();
          expect(() => read(character.repeat(MAX_READ_CHARACTERS + 1)))
            .to.throw(CallbackMalformed, `${field} must be at most 255 characters`)
            .with.property('field', field);
        }
      });
    }

    it(`are stored whole, in any letter case, if ${driver.gateway} reads them`, () => {
      const read = Object.fromEntries(
        driver.callback.reads.map((name) => [name, '𝕏'.repeat(MAX_READ_CHARACTERS)]),
      );
      const padding = Array.from({ length: 190 }, (_, index) => [`padding${index}`, 'x'.repeat(300)]);
      const before = { ...Object.fromEntries(padding), ...read };
      expect(keptFields(driver.callback, before)).to.include(read);
    });
  }

  it('are stored if the driver or operators need them, without credentials', () => {
    // All that gateway_one sends.
    const names =
      `tran_id val_id amount card_type store_amount card_no bank_tran_id status tran_date error currency
      card_issuer card_brand card_sub_brand card_issuer_country card_issuer_country_code verify_key currency_type
      currency_amount currency_rate base_fair value_a value_b value_c value_d risk_level risk_title`.split(
        /\s+/,
      );
    const fields = Object.fromEntries(names.map((name) => [name, `${name} ${'x'.repeat(60)}`]));
    const secrets = { store_id: 'store', verify_sign: 'md5', verify_sign_sha2: 'sha2' };
    expect(Object.keys(kept({ ...secrets, ...fields })).sort()).to.deep.equal(
      [OTHER_FIELDS]
        .concat('status', 'tran_id', 'val_id', 'amount', 'currency_amount', 'currency_type', 'bank_tran_id')
        .concat('card_type', 'tran_date', 'risk_level', 'risk_title', 'error')
        .sort(),
    );
  });

  it('are summarized by number, size and digest if the journal does not store them', () => {
    const read = { status: 'VALID', tran_id: 'T' };
    const json = '[["a","é"],["b","x"]]';
    const digest = createHash('sha256').update(json).digest('hex');
    const summary = `2, 22 bytes, SHA-256 ${digest}`;
    expect(kept({ b: 'x', ...read, a: 'é', store_id: 'S' })).to.deep.equal({
      ...read,
      [OTHER_FIELDS]: summary,
    });
    expect(kept({ a: 'é', b: 'x', ...read })[OTHER_FIELDS], 'in another order').to.equal(summary);
    expect(kept(read)).to.deep.equal(read);
    expect(kept({ ...read, card_type: 'x'.repeat(MAX_SHOWN_BYTES + 1) })).to.have.all.keys(
      'status',
      'tran_id',
      OTHER_FIELDS,
    );
  });
});
