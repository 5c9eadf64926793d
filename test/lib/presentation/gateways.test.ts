import { expect } from 'chai';
import { DRIVERS } from '../../../core/payment/providers/registry.ts';
import { GATEWAYS } from '../../../lib/presentation/gateways.ts';

describe('the list of gateways', () => {
  it('is that of the drivers (else: npm run gen)', () => {
    const expected = DRIVERS.map(({ gateway, callback, catalog }) => ({
      name: gateway,
      ...(callback.signed && { signatureHeaders: callback.signed.headers }),
      ...(catalog && { hasPrices: true }),
    }));
    expect(GATEWAYS).to.deep.equal(expected);
  });
});
