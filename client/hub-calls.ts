// The calls of the hub's REST surface that a client makes, and strict readings of their answers.

import { type Http, unexpected } from './http.ts';
import { parseInstant } from './instant.ts';
import { type Limits, readLimits, UNLIMITED } from './limits.ts';
import { type PublicPoint, pointOfJwk } from './public-key.ts';
import type { Signal } from './signal.ts';
import { isJsonObject } from './strict-json.ts';

export type Machine = {
  readonly machineFingerprint: string;
  readonly machineLabel?: string;
  readonly appVersion?: string;
};

/** Nothing in it is verified. */
export type ActivationAnswer = { readonly license: unknown; readonly publicKeyPem: string };

export type LicenseStatus = {
  /** Milliseconds since the epoch. */
  readonly checkedAt: number;
  readonly recheckAfterSeconds: number;
  readonly expiresAt: string | undefined;
  /** None if the hub names none. */
  readonly limits: Limits;
};

/** Each rejects with LicenseError. */
export type HubCalls = {
  activate(licenseKey: string, signal?: Signal): Promise<ActivationAnswer>;
  deactivate(licenseKey: string, signal?: Signal): Promise<void>;
  status(licenseId: string, signal?: Signal): Promise<LicenseStatus>;
  /** The public keys of the app. */
  keys(signal?: Signal): Promise<readonly PublicPoint[]>;
  freeLimits(signal?: Signal): Promise<Limits>;
};

export function createHubCalls(http: Http, app: string, machine: Machine): HubCalls {
  const { machineFingerprint } = machine;
  return {
    async activate(licenseKey, signal) {
      const answer = await http({ path: 'v1/activate', body: { licenseKey, ...machine }, signal });
      const { ok, license, publicKeyPem } = answer;
      if (ok !== true || typeof publicKeyPem !== 'string') throw unexpected('an activation without a key');
      return { license, publicKeyPem };
    },

    async deactivate(licenseKey, signal) {
      const body = { licenseKey, machineFingerprint };
      const { ok, released } = await http({ path: 'v1/deactivate', body, signal });
      if (ok !== true || typeof released !== 'boolean') throw unexpected('a release that says nothing');
    },

    async status(licenseId, signal) {
      const path = `v1/status/${encodeURIComponent(licenseId)}`;
      const answer = await http({ path, query: { fp: machineFingerprint }, signal });
      if (answer['ok'] !== true || answer['state'] !== 'active' || answer['licenseId'] !== licenseId) {
        throw unexpected('a status of something else');
      }
      const { recheckAfterSeconds, expiresAt } = answer;
      const checkedAt = parseInstant(answer['checkedAt']);
      const limits = readLimits(answer['limits'] ?? {});
      if (checkedAt === undefined || limits === undefined || typeof recheckAfterSeconds !== 'number') {
        throw unexpected('a status that lacks something');
      }
      return {
        checkedAt,
        recheckAfterSeconds,
        expiresAt: typeof expiresAt === 'string' ? expiresAt : undefined,
        limits,
      };
    },

    async keys(signal) {
      const { keys } = await http({ path: `v1/apps/${app}/jwks.json`, signal });
      if (!Array.isArray(keys)) throw unexpected('no set of keys');
      return keys.filter(isJsonObject).flatMap((jwk) => pointOfJwk(jwk) ?? []);
    },

    async freeLimits(signal) {
      const answer = await http({ path: `v1/apps/${app}/limits/free`, signal });
      const limits = readLimits(answer['limits']);
      const isFree = answer['app'] === app && answer['profile'] === 'free';
      if (!isFree || limits === undefined || Object.values(limits).some((limit) => limit < UNLIMITED)) {
        throw unexpected('limits that are none, or of something else');
      }
      return limits;
    },
  };
}
