import { expect } from 'chai';
import {
  keptFields,
  LEFT_OUT,
  LONGEST_READ,
  MOST_UNREAD_BYTES,
  readClaimOf,
} from '../../../core/payment/callback-fields.ts';
import { CallbackMalformed } from '../../../core/payment/provider.ts';
import { gatewayOne } from '../../../core/payment/providers/gateway-one.ts';
import { DRIVERS } from '../../../core/payment/registry.ts';
import { till } from './till.ts';

const kept = (fields: Record<string, string>) => keptFields(gatewayOne.callback, fields);

describe('the fields of a callback', () => {
  it('are given to a driver that reads them, and no others', () => {
    const driver = {
      ...till,
      callback: { ...till.callback, reads: ['status', '__proto__'] },
      readCallback: (fields: object) => ({ outcome: 'ignored', status: JSON.stringify(fields) }) as const,
    };
    const fields = JSON.parse('{"amount":"1","status":"s","__proto__":"p","constructor":"c"}');
    expect(readClaimOf(driver, fields).status).to.equal('{"status":"s","__proto__":"p"}');
  });

  for (const driver of DRIVERS) {
    for (const field of driver.callback.reads) {
      it(`are refused by name if one that ${driver.gateway} reads is too long: ${field}`, () => {
        const others = driver === gatewayOne ? { status: 'VALID', tran_id: 'T' } : {};
        const read = (value: string) => readClaimOf(driver, { ...others, [field]: value });
        for (const character of ['x', '𝕏']) {
          expect(() => read(character.repeat(LONGEST_READ))).to.not.throw();
          expect(() => read(character.repeat(LONGEST_READ + 1)))
            .to.throw(CallbackMalformed, `${field} has to be at most 255 characters`)
            .with.property('field', field);
        }
      });
    }

    it(`are kept whole and in any case where ${driver.gateway} reads them`, () => {
      const read = Object.fromEntries(driver.callback.reads.map((name) => [name, '𝕏'.repeat(LONGEST_READ)]));
      const padding = Array.from({ length: 190 }, (_, index) => [`padding${index}`, 'x'.repeat(300)]);
      const before = { ...Object.fromEntries(padding), ...read };
      expect(keptFields(driver.callback, before)).to.include(read);
    });
  }

  it('of a notification are all kept, except for credentials and what is made from them', () => {
    // All that gateway_one sends, with values longer than its own.
    const names =
      `tran_id val_id amount card_type store_amount card_no bank_tran_id status tran_date error currency
      card_issuer card_brand card_sub_brand card_issuer_country card_issuer_country_code verify_key currency_type
      currency_amount currency_rate base_fair value_a value_b value_c value_d risk_level risk_title`.split(
        /\s+/,
      );
    const fields = Object.fromEntries(names.map((name) => [name, `${name} ${'x'.repeat(100)}`]));
    const secrets = { store_id: 'store', verify_sign: 'md5', verify_sign_sha2: 'sha2' };
    expect(kept({ ...secrets, ...fields })).to.deep.equal(fields);
  });

  it('that no driver reads are kept as far as there is room, and the others counted', () => {
    const bytes = (fields: object) => Buffer.byteLength(JSON.stringify(fields));
    const last = { last: 'é' };
    const first = { first: 'x'.repeat(MOST_UNREAD_BYTES - bytes({ first: '' }) - bytes(last)) };
    const read = { status: 'VALID', tran_id: 'T' };
    const left = kept({ ...first, long: 'x'.repeat(8_192), ...last, more: '', ...read });
    expect(Object.keys(left)).to.deep.equal(['first', 'last', 'status', 'tran_id', LEFT_OUT]);
    expect(left).to.include({ ...first, ...last, ...read });
    expect(left[LEFT_OUT]).to.equal('2 of the fields: too long to be kept');
  });
});
