// JSON schema and columns of limit profiles.
import type { LimitProfile } from '../../../gen/hub/license/v1/license_pb.ts';
import { integer, map, object, text, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { limitNumbers, limitsText } from '../cells.ts';

export const PROFILE = object(
  'Profile',
  { app: text(), name: text(), limits: map(integer()) },
  { message: 'hub.license.v1.LimitProfile' },
);
export type ProfileView = ValueOf<typeof PROFILE>;

export function profileView({ app, name, limits }: LimitProfile): ProfileView {
  return { app, name, limits: limitNumbers(limits) };
}

export const PROFILE_COLUMNS: readonly Column<ProfileView>[] = [
  { title: 'PROFILE', cell: (item) => item.name },
  { title: 'LIMITS', cell: (item) => limitsText(item.limits) },
];

export const PROFILE_FIELDS: readonly Column<ProfileView>[] = [
  { title: 'App', cell: (item) => item.app },
  { title: 'Profile', cell: (item) => item.name },
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
];
