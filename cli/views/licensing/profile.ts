// JSON schema and columns of limit profiles.
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { limitsText } from '../cells.ts';
import * as json from '../schema.ts';

export const PROFILE = json.view('Profile', 'hub.license.v1.LimitProfile', {
  app: json.text(),
  name: json.text(),
  limits: json.limits(),
});
export type ProfileView = json.ValueOf<typeof PROFILE>;

export const profileView = json.viewer(PROFILE);

export const PROFILE_FIELDS: readonly Column<ProfileView>[] = [
  ...columnsOf(PROFILE, 'app', { name: 'Profile' }),
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
];

export const PROFILE_COLUMNS = pick(PROFILE_FIELDS, 'Profile', 'Limits');
