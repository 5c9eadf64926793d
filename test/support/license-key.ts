// License keys that no license has.
import { randomBytes } from 'node:crypto';
import { formatLicenseKey } from '../../core/license/keys/license-key.ts';

export function randomLicenseKey(): string {
  return formatLicenseKey(randomBytes(24));
}
