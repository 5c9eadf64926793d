// Limit profiles as hubctl prints them.
import type { LimitProfile } from '../../gen/hub/license/v1/license_pb.ts';
import type { Column } from '../table.ts';
import { limitNumbers, limitsText } from './cells.ts';

export type LimitProfileView = {
  readonly app: string;
  readonly profile: string;
  /** -1 is unlimited. */
  readonly limits: Record<string, number>;
};

export function limitProfileView(message: LimitProfile): LimitProfileView {
  return { app: message.app, profile: message.name, limits: limitNumbers(message.limits) };
}

export const LIMIT_PROFILE_COLUMNS: readonly Column<LimitProfileView>[] = [
  { title: 'PROFILE', cell: (item) => item.profile },
  { title: 'LIMITS', cell: (item) => limitsText(item.limits) },
];

export const LIMIT_PROFILE_FIELDS: readonly Column<LimitProfileView>[] = [
  { title: 'App', cell: (item) => item.app },
  { title: 'Profile', cell: (item) => item.profile },
  { title: 'Limits', cell: (item) => limitsText(item.limits) },
];
