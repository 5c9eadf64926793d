// JSON schema and columns of apps and their signing keys.
import type { App } from '../../../gen/hub/license/v1/license_pb.ts';
import { wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import { id, integer, list, object, text, time, type ValueOf, word } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, seatsText, shortTime } from '../cells.ts';

/** Words of the key states by their number in the contract. */
export const SIGNING_KEY_STATES = { active: 1, retired: 2, withdrawn: 3 } as const;

export const SIGNING_KEY = object(
  'SigningKey',
  { kid: text(), state: word(SIGNING_KEY_STATES), createdAt: time(), publicKeyPem: text() },
  { message: 'hub.license.v1.SigningKey' },
);
export type SigningKeyView = ValueOf<typeof SIGNING_KEY>;

const DEFAULT_TERMS = object(
  'DefaultTerms',
  {
    leaseDays: integer(
      'number of days that a signed license is valid without contacting the hub; 0 for no bound',
    ),
    graceDays: integer('number of days that a license stays valid after its expiry'),
    seatLimit: integer('machines that can be active at the same time; -1 is unlimited'),
  },
  { message: 'hub.license.v1.DefaultTerms' },
);

export const APP = object(
  'App',
  {
    slug: text(),
    name: text(),
    appId: id('app'),
    createdAt: time(),
    defaultTerms: DEFAULT_TERMS,
    signingKeys: list(SIGNING_KEY),
  },
  { message: 'hub.license.v1.App' },
);
export type AppView = ValueOf<typeof APP>;

export function appView(app: App): AppView {
  return {
    slug: app.slug,
    name: app.name,
    appId: app.appId,
    createdAt: rfc3339(requireField(app.createdAt, 'creation time')),
    defaultTerms: {
      leaseDays: app.defaultTerms?.leaseDays ?? 0,
      graceDays: app.defaultTerms?.graceDays ?? 0,
      seatLimit: app.defaultTerms?.seatLimit ?? 1,
    },
    signingKeys: app.signingKeys.map((key) => ({
      kid: key.kid,
      state: wordFor(SIGNING_KEY_STATES, key.state),
      createdAt: rfc3339(requireField(key.createdAt, 'creation time')),
      publicKeyPem: key.publicKeyPem,
    })),
  };
}

export const APP_COLUMNS: readonly Column<AppView>[] = [
  { title: 'APP', cell: (app) => app.slug },
  { title: 'NAME', cell: (app) => app.name },
  { title: 'KEYS', cell: (app) => app.signingKeys.length, right: true },
  { title: 'ACTIVE KEY', cell: (app) => app.signingKeys.find((key) => key.state === 'active')?.kid },
  { title: 'CREATED', cell: (app) => shortTime(app.createdAt) },
];

export const APP_FIELDS: readonly Column<AppView>[] = [
  { title: 'App', cell: (app) => app.slug },
  { title: 'Name', cell: (app) => app.name },
  { title: 'Id', cell: (app) => app.appId },
  { title: 'Created', cell: (app) => shortTime(app.createdAt) },
  { title: 'Default seats', cell: ({ defaultTerms }) => seatsText(defaultTerms.seatLimit) },
  { title: 'Default lease', cell: ({ defaultTerms }) => days(defaultTerms.leaseDays) },
  { title: 'Default grace', cell: ({ defaultTerms }) => days(defaultTerms.graceDays) },
];

function days(count: number): string {
  if (count === 0) return 'none';
  return count === 1 ? '1 day' : `${count} days`;
}

export const SIGNING_KEY_COLUMNS: readonly Column<SigningKeyView>[] = [
  { title: 'SIGNING KEY', cell: (key) => key.kid },
  { title: 'STATE', cell: (key) => key.state },
  { title: 'CREATED', cell: (key) => shortTime(key.createdAt) },
];
