// JSON schema and columns of limit profiles.
import type { LimitProfile } from '../../../gen/hub/license/v1/license_pb.ts';
import { type Column, pick } from '../../output/table.ts';
import { limitsText } from '../cells.ts';
import * as json from '../schema.ts';

export const PROFILE = json.view('Profile', 'hub.license.v1.LimitProfile', {
  app: json.text(),
  name: json.text(),
  limits: json.limits(),
});
export type ProfileView = json.ValueOf<typeof PROFILE>;

export const profileView = (profile: LimitProfile | undefined): ProfileView => json.viewOf(PROFILE, profile);

export const PROFILE_FIELDS: readonly Column<ProfileView>[] = [
  { title: 'App', cell: (item) => item.app },
  { title: 'Profile', cell: (item) => item.name },
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
];

export const PROFILE_COLUMNS = pick(PROFILE_FIELDS, 'Profile', 'Limits');
