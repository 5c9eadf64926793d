// Licenses of Keygen, as its API lists them (JSON) or as a table of the same attributes (CSV).
//
// Attributes: https://keygen.sh/docs/api/licenses/#licenses-object
import { type ColumnRule, onOneLine, type Profile } from './profile.ts';

/** No limit. */
const machines: ColumnRule = { field: 'seats', convert: (cell) => cell || 'unlimited' };
/** The others are ACTIVE, INACTIVE, EXPIRING and EXPIRED. */
const STOPPED = ['SUSPENDED', 'BANNED'];
const status: ColumnRule = {
  field: 'revoked',
  convert: (cell) => (STOPPED.includes(cell.toUpperCase()) ? 'true' : ''),
};

const ATTRIBUTES: Readonly<Record<string, ColumnRule>> = {
  key: { field: 'licenseKey' },
  name: { field: 'metadata.name', convert: onOneLine },
  expiry: { field: 'expiresAt' },
  status,
  suspended: { field: 'revoked' },
  maxmachines: machines,
  max_machines: machines,
  created: { field: 'createdAt' },
};

const inJson = Object.entries(ATTRIBUTES).map(([name, rule]) => [`attributes.${name}`, rule] as const);

export const KEYGEN: Profile = {
  title: 'Keygen',
  columns: {
    ...ATTRIBUTES,
    ...Object.fromEntries(inJson),
    id: { field: 'metadata.keygenId' },
    email: { field: 'email' },
    'user.email': { field: 'email' },
    'owner.email': { field: 'email' },
    'relationships.owner.data.id': { field: 'customerRef' },
    'relationships.user.data.id': { field: 'customerRef' },
  },
};
