// JSON schema and columns of the secrets of license keys.
import type { KeySecret } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { requireField } from '../../connect/require-field.ts';
import { boolean, id, integer, object, time, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const KEY_SECRET = object(
  'KeySecret',
  { keySecretId: id('ksec'), active: boolean(), licenses: integer(), createdAt: time() },
  { message: 'hub.license.v1.KeySecret' },
);
type KeySecretView = ValueOf<typeof KEY_SECRET>;

export function keySecretView({ keySecretId, active, licenses, createdAt }: KeySecret): KeySecretView {
  return {
    keySecretId,
    active,
    licenses: Number(licenses),
    createdAt: rfc3339(requireField(createdAt, 'creation time')),
  };
}

/** The hub counts no further. */
const MAX_COUNTED = 10_000;

const stateOf = ({ active }: KeySecretView): string => (active ? 'active' : 'retired');
const licensesOf = ({ licenses }: KeySecretView): string =>
  licenses >= MAX_COUNTED ? `${MAX_COUNTED} or more` : String(licenses);

export const KEY_SECRET_COLUMNS: readonly Column<KeySecretView>[] = [
  { title: 'SECRET', cell: (item) => item.keySecretId },
  { title: 'STATE', cell: stateOf },
  { title: 'LICENSES', cell: licensesOf, right: true },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
];

export const KEY_SECRET_FIELDS: readonly Column<KeySecretView>[] = [
  { title: 'Secret', cell: (item) => item.keySecretId },
  { title: 'State', cell: stateOf },
  { title: 'Licenses', cell: licensesOf },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
];
