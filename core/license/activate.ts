// Activation: binds machines to licenses. Requests at the same time share their statements.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { ineligible } from './eligibility.ts';
import { seatLimitReached } from './grant-seats.ts';
import type { Keyring } from './keyring.ts';
import type { LastSeen } from './last-seen.ts';
import { hashKey, licenseKeyUnknown } from './license-key.ts';
import type { LicenseMeter } from './license-meter.ts';
import { effectiveLimits, hasFreeSeat } from './limits.ts';
import { type Asked, type AskedFor, readAsked } from './read-asked.ts';
import { type LicenseContent, type SignedLicense, signLicense } from './signed-license.ts';
import { type NewcomerAsk, type SeatAsk, type Seated, seatNewcomers, takeSeats } from './take-seats.ts';

export type ActivateRequest = {
  readonly licenseKey: string;
  readonly machineFingerprint: string;
  readonly machineLabel: string;
  readonly appVersion: string;
};

export type Activation = { readonly license: SignedLicense; readonly publicKeyPem: string };

export type ActivateOptions = {
  readonly pool: Pool;
  readonly keyring: Keyring;
  readonly lastSeen: LastSeen;
  readonly meter: LicenseMeter;
  readonly clock: Clock;
  readonly logger: Logger;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Activates one machine. Rejects with HubError `license_key_unknown`, `license_revoked`, `license_expired`
 * or `seat_limit_reached`; nothing is written then.
 */
export function createActivate({ pool, keyring, lastSeen, meter, clock, logger }: ActivateOptions) {
  const read = createBatcher<AskedFor, Read>({
    ...BATCHES,
    run: async (asks) => {
      const at = clock();
      return (await readAsked(pool, asks)).map((license) => ({ license, at }));
    },
  });
  const options = { pool, clock, logger, taken: meter.seatsTaken };
  const seatNewcomer = createBatcher<NewcomerAsk, Seated | undefined>({
    ...BATCHES,
    run: (asks) => seatNewcomers(asks, options),
  });
  const take = createBatcher<SeatAsk, Seated>({ ...BATCHES, run: (asks) => takeSeats(asks, options) });

  /** Most machines that ask have their seat, and nothing new to say: for them, nothing is locked or written. */
  const seat = async (ask: SeatAsk): Promise<Seated> => {
    const { license, at } = await read(ask);
    if (license === undefined) throw licenseKeyUnknown();
    const refusal = ineligible(license, at);
    if (refusal) throw refusal;
    const { seatId, seatLimit, used, lastSeenAtMs } = license;
    if (seatId !== null && !saysSomethingNew(license, ask)) {
      lastSeen.touch(seatId, lastSeenAtMs ?? 0, at);
      return { license, seatId, at };
    }
    const seats = { limit: seatLimit, used };
    if (seatId === null && !hasFreeSeat(seats)) throw seatLimitReached(seats);
    const seated = seatId === null ? await seatNewcomer({ ...ask, licenseId: license.licenseId }) : undefined;
    return seated ?? take(ask);
  };

  return async ({ licenseKey, ...machine }: ActivateRequest): Promise<Activation> => {
    const seated = await seat({ ...machine, keyHash: hashKey(licenseKey) });
    const { privateKey, publicKeyPem } = await keyring.get(seated.license.kid);
    const license = await signLicense(contentOf(seated, machine.machineFingerprint), privateKey);
    meter.activations.add();
    return { license, publicKeyPem };
  };
}

type Read = { readonly license: Asked | undefined; readonly at: Date };

function saysSomethingNew(known: Asked, { machineLabel, appVersion }: SeatAsk): boolean {
  return (
    (machineLabel !== '' && machineLabel !== known.machineLabel) ||
    (appVersion !== '' && appVersion !== known.appVersion)
  );
}

function contentOf({ license, seatId, at }: Seated, machineFingerprint: string): LicenseContent {
  const { customer, expiresAtMs, leaseDays } = license;
  const limits = effectiveLimits(license.profileLimits ?? undefined, license.limits ?? undefined);
  return {
    licenseId: formatId('lic', license.licenseId),
    app: license.app,
    seatId: formatId('seat', seatId),
    machineFingerprint,
    ...(customer !== null && { customer }),
    ...(limits && { limits }),
    issuedAt: at.toISOString(),
    ...(expiresAtMs !== null && { expiresAt: new Date(expiresAtMs).toISOString() }),
    ...(leaseDays !== null && { leaseExpiresAt: new Date(at.getTime() + leaseDays * DAY_MS).toISOString() }),
    kid: license.kid,
  };
}
