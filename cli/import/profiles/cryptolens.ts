// License keys of Cryptolens (Devolens), as Product/GetKeys lists them (JSON) or as a table of the same fields (CSV).
//
// Method: https://app.cryptolens.io/docs/api/v3/GetKeys
// Fields: https://app.cryptolens.io/docs/api/v3/model/LicenseKey
import { type ColumnRule, onOneLine, type Profile } from './profile.ts';

const features = Array.from({ length: 8 }, (_, index): [string, ColumnRule] => {
  const name = `f${index + 1}`;
  return [name, { field: 'features', convert: (cell) => (/^(true|1)$/i.test(cell) ? name : '') }];
});

export const CRYPTOLENS: Profile = {
  title: 'Cryptolens',
  columns: {
    key: { field: 'licenseKey' },
    created: { field: 'createdAt' },
    expires: { field: 'expiresAt' },
    // 0: it does not bind keys to machines.
    maxnoofmachines: { field: 'seats', convert: (cell) => (cell === '0' ? 'unlimited' : cell) },
    block: { field: 'revoked' },
    notes: { field: 'metadata.notes', convert: onOneLine },
    globalid: { field: 'metadata.cryptolensId' },
    ...Object.fromEntries(features),
    'customer.id': { field: 'customerRef' },
    'customer.name': { field: 'customer', convert: onOneLine },
    'customer.email': { field: 'email' },
  },
};
