// JSON schema and columns of apps and their signing keys.
import { counted } from '../../../lib/presentation/counted.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import { seatsText, shortTime } from '../cells.ts';
import * as json from '../schema.ts';

/** Words of the key states by their number in the contract. */
export const SIGNING_KEY_STATES = { active: 1, retired: 2, withdrawn: 3 } as const;

export const SIGNING_KEY = json.view('SigningKey', 'hub.license.v1.SigningKey', {
  kid: json.text(),
  state: json.word(SIGNING_KEY_STATES),
  createdAt: json.time(),
  publicKeyPem: json.text(),
});

const DEFAULT_TERMS = json.view('DefaultTerms', 'hub.license.v1.DefaultTerms', {
  leaseDays: json.integer(
    'number of days that a signed license is valid without contacting the hub; 0 for no bound',
  ),
  graceDays: json.integer('number of days that a license stays valid after its expiry'),
  seatLimit: json.integer('machines that can be active at the same time; -1 is unlimited'),
});

export const APP = json.view('App', 'hub.license.v1.App', {
  slug: json.text(),
  name: json.text(),
  appId: json.id('app'),
  createdAt: json.time(),
  defaultTerms: DEFAULT_TERMS,
  signingKeys: json.list(SIGNING_KEY),
});
export type AppView = json.ValueOf<typeof APP>;

export const appView = json.viewer(APP);

export const APP_COLUMNS: readonly Column<AppView>[] = [
  ...columnsOf(APP, { slug: 'App' }, 'name'),
  { title: 'Keys', cell: (app) => app.signingKeys.length, right: true },
  { title: 'Active key', cell: (app) => app.signingKeys.find((key) => key.state === 'active')?.kid },
  { title: 'Created', cell: (app) => shortTime(app.createdAt) },
];

export const APP_FIELDS: readonly Column<AppView>[] = [
  ...columnsOf(APP, { slug: 'App' }, 'name', { appId: 'Id' }, 'createdAt'),
  { title: 'Default seats', cell: ({ defaultTerms }) => seatsText(defaultTerms.seatLimit) },
  { title: 'Default lease', cell: ({ defaultTerms }) => days(defaultTerms.leaseDays) },
  { title: 'Default grace', cell: ({ defaultTerms }) => days(defaultTerms.graceDays) },
];

function days(count: number): string {
  return count === 0 ? 'none' : counted(count, 'day');
}

export const SIGNING_KEY_COLUMNS = columnsOf(SIGNING_KEY, { kid: 'Signing key' }, 'state', 'createdAt');
