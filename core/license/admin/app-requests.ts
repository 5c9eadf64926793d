// Reads the default terms of an app from requests.

import type { UpdateAppRequest } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { DefaultTerms as DefaultTermsMessage } from '../../../gen/hub/license/v1/license_pb.ts';
import { updateMaskInvalid } from '../../errors.ts';
import { type AppUpdate, type DefaultTerms, FIRST_DEFAULT_TERMS } from './apps.ts';

/** Without a message, those of a new app. */
export function readDefaultTerms(message: DefaultTermsMessage | undefined): DefaultTerms {
  if (message === undefined) return FIRST_DEFAULT_TERMS;
  const { leaseDays, graceDays, seatLimit } = message;
  return { leaseDays: leaseDays || null, graceDays, seatLimit: seatLimit || FIRST_DEFAULT_TERMS.seatLimit };
}

/** What the mask names. @throws HubError `update_mask_invalid` */
export function readAppUpdate({ updateMask, name, defaultTerms }: UpdateAppRequest): AppUpdate {
  // A removed term is 0.
  const { leaseDays = 0, graceDays = 0, seatLimit = 0 } = defaultTerms ?? {};
  const terms = readDefaultTerms({ ...defaultTerms, leaseDays, graceDays, seatLimit } as DefaultTermsMessage);
  const values: Readonly<Record<string, AppUpdate>> = {
    name: { name },
    'default_terms.lease_days': { leaseDays: terms.leaseDays },
    'default_terms.grace_days': { graceDays },
    'default_terms.seat_limit': { seatLimit: terms.seatLimit },
    default_terms: terms,
  };
  const paths = updateMask?.paths ?? [];
  if (paths.length === 0) throw updateMaskInvalid('name at least one field to change');
  const known = Object.keys(values);
  const wrong = paths.find((path) => !known.includes(path));
  if (wrong !== undefined) throw updateMaskInvalid(`"${wrong}" is not one of ${known.join(', ')}`);
  return Object.assign({}, ...paths.map((path) => values[path]));
}
