// Checks the expiry of a license.

import { DAY_MS } from '../../../clock.ts';
import { HubError } from '../../../errors.ts';
import { LAST_MS } from '../../../timestamp.ts';

export type ExpiryBounds = {
  readonly graceDays: number;
  /** The expiry must be later; undefined if it may be in the past. */
  readonly now?: Date;
};

/**
 * @throws HubError `expiry_invalid` if the expiry is not in the future, or the grace ends after the year 9999
 */
export function checkExpiry(expiresAt: Date, { graceDays, now }: ExpiryBounds, field = 'expiresAt'): void {
  if (now !== undefined && expiresAt <= now) {
    const message = 'the expiry must be in the future; to end a license now, suspend or revoke it';
    throw new HubError('expiry_invalid', message, { field });
  }
  if (endsTooLate(expiresAt, graceDays)) {
    throw new HubError('expiry_invalid', ENDS_TOO_LATE, { field });
  }
}

export const ENDS_TOO_LATE = 'the expiry and the grace must end before the year 10000';

/** Whether a grace ends after the last time that a timestamp can have. */
export function endsTooLate(expiresAt: Date, graceDays: number): boolean {
  return !(expiresAt.getTime() + graceDays * DAY_MS <= LAST_MS);
}
