import { expect } from 'chai';
import { DRIVERS } from '../../core/payment/providers/registry.ts';
import { codeRows, readPage } from './markdown.ts';

const PAGE = readPage('docs/payments.md');

describe('docs/payments.md', () => {
  it('lists the credentials, options and production address of every gateway', () => {
    const words = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, word]) => word);
    const rows = codeRows(PAGE).map(([gateway, credentials, options, address]) => ({
      gateway,
      credentials: words(credentials),
      options: words(options),
      address,
    }));
    expect(rows).to.deep.equal(
      DRIVERS.map((driver) => ({
        gateway: driver.gateway,
        credentials: driver.credentials,
        options: Object.entries(driver.options).flat(2),
        address: driver.productionUrls[0],
      })),
    );
  });
});
