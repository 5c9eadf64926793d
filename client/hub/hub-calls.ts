// Calls the hub's REST API and checks the shape of each response.

import type { Signal } from '../abort-signal.ts';
import { type Limits, readLimits, UNLIMITED } from '../license/limits.ts';
import { type PublicPoint, pointOfJwk } from '../license/public-key.ts';
import { parseRfc3339 } from '../license/rfc3339.ts';
import { isJsonObject } from '../license/strict-json.ts';
import { type Http, unexpectedAnswer } from './http.ts';

export type Machine = {
  readonly machineFingerprint: string;
  readonly machineLabel?: string;
  readonly appVersion?: string;
};

export type LicenseStatus = {
  /** Milliseconds since the epoch. */
  readonly checkedAt: number;
  readonly recheckAfterSeconds: number;
  readonly expiresAt: string | undefined;
  /** Empty if the hub sends none. */
  readonly limits: Limits;
  /** Counts the changes of the terms, from 1; undefined if an older hub sends none. */
  readonly termsVersion: number | undefined;
};

export type HubCalls = ReturnType<typeof createHubCalls>;

/** Every call rejects with LicenseError. */
export function createHubCalls(http: Http, app: string, machine: Machine) {
  const { machineFingerprint } = machine;
  return {
    /** The license is not verified yet. */
    async activate(licenseKey: string, signal?: Signal) {
      const answer = await http({ path: 'v1/activate', body: { licenseKey, ...machine }, signal });
      const { ok, license, publicKeyPem } = answer;
      if (ok !== true || typeof publicKeyPem !== 'string')
        throw unexpectedAnswer('activation without a public key');
      return { license, publicKeyPem };
    },

    async deactivate(licenseKey: string, signal?: Signal): Promise<void> {
      const body = { licenseKey, machineFingerprint };
      const { ok, released } = await http({ path: 'v1/deactivate', body, signal });
      if (ok !== true || typeof released !== 'boolean') throw unexpectedAnswer('release without a result');
    },

    async status(licenseId: string, signal?: Signal): Promise<LicenseStatus> {
      const path = `v1/status/${encodeURIComponent(licenseId)}`;
      const answer = await http({ path, query: { fp: machineFingerprint }, signal });
      if (answer['ok'] !== true || answer['state'] !== 'active' || answer['licenseId'] !== licenseId) {
        throw unexpectedAnswer('status of another license');
      }
      const { recheckAfterSeconds, expiresAt, termsVersion } = answer;
      const checkedAt = parseRfc3339(answer['checkedAt']);
      const limits = readLimits(answer['limits'] ?? {});
      if (checkedAt === undefined || limits === undefined || typeof recheckAfterSeconds !== 'number') {
        throw unexpectedAnswer('incomplete status');
      }
      return {
        checkedAt,
        recheckAfterSeconds,
        expiresAt: typeof expiresAt === 'string' ? expiresAt : undefined,
        limits,
        termsVersion: typeof termsVersion === 'number' ? termsVersion : undefined,
      };
    },

    async keys(signal?: Signal): Promise<PublicPoint[]> {
      const { keys } = await http({ path: `v1/apps/${app}/jwks.json`, signal });
      if (!Array.isArray(keys)) throw unexpectedAnswer('no key set');
      return keys.filter(isJsonObject).flatMap((jwk) => pointOfJwk(jwk) ?? []);
    },

    async freeLimits(signal?: Signal): Promise<Limits> {
      const answer = await http({ path: `v1/apps/${app}/limits/free`, signal });
      const limits = readLimits(answer['limits']);
      const isFree = answer['app'] === app && answer['profile'] === 'free';
      if (!isFree || limits === undefined || Object.values(limits).some((limit) => limit < UNLIMITED)) {
        throw unexpectedAnswer('invalid Free limits');
      }
      return limits;
    },
  };
}
