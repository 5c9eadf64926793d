// JSON schema and columns of the secrets of license keys.
import type { Column } from '../../output/table.ts';
import { shortTime } from '../cells.ts';
import * as json from '../schema.ts';

export const KEY_SECRET = json.view('KeySecret', 'hub.license.v1.KeySecret', {
  keySecretId: json.id('ksec'),
  active: json.boolean(),
  licenses: json.integer(),
  createdAt: json.time(),
});
type KeySecretView = json.ValueOf<typeof KEY_SECRET>;

export const keySecretView = json.viewer(KEY_SECRET);

/** The hub counts no further. */
const MAX_COUNTED = 10_000;

const licensesOf = ({ licenses }: KeySecretView): string =>
  licenses >= MAX_COUNTED ? `${MAX_COUNTED} or more` : String(licenses);

/** For the list of secrets and for one secret. */
export const KEY_SECRET_COLUMNS: readonly Column<KeySecretView>[] = [
  { title: 'Secret', cell: (item) => item.keySecretId },
  { title: 'State', cell: ({ active }) => (active ? 'active' : 'retired') },
  { title: 'Licenses', cell: licensesOf, right: true },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
];
