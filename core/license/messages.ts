// Converts between the license module's entities and its protobuf messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type AppSchema,
  type LicenseSchema,
  LicenseState,
  type LimitProfileSchema,
  type SeatSchema,
  SigningKeyState,
} from '../../gen/hub/license/v1/license_pb.ts';
import { formatId } from '../ids.ts';
import type { AppWithKeys } from './admin/apps.ts';
import type { License, LimitProfile, Seat, SigningKey } from './entities.ts';
import { effectiveLimits, type LicenseStateName, type Limits, licenseState } from './terms.ts';

export function appToProto({ app, signingKeys }: AppWithKeys): MessageInitShape<typeof AppSchema> {
  return {
    appId: formatId('app', app.id),
    slug: app.slug,
    name: app.name,
    createdAt: timestampFromDate(app.createdAt),
    signingKeys: signingKeys.map((key) => ({
      kid: key.kid,
      state: keyState(key),
      publicKeyPem: key.publicKeyPem,
      createdAt: timestampFromDate(key.createdAt),
    })),
  };
}

export function limitProfileToProto(
  profile: LimitProfile,
  app: string,
): MessageInitShape<typeof LimitProfileSchema> {
  return { app, name: profile.name, limits: limitsToProto(profile.limits) };
}

export function licenseToProto(license: License, now: Date): MessageInitShape<typeof LicenseSchema> {
  const { limitProfile, customer, expiresAt, leaseDays, revokedAt, revokeReason } = license;
  const state = licenseState({ revoked: revokedAt != null, expiresAtMs: expiresAt?.getTime() ?? null }, now);
  return {
    licenseId: formatId('lic', license.id),
    app: license.app.slug,
    keyHint: license.keyHint,
    state: LICENSE_STATES[state],
    seats: { limit: license.seatLimit, used: license.seatsUsed },
    limits: limitsToProto(effectiveLimits(limitProfile?.limits, license.limits ?? undefined)),
    ...(limitProfile && { limitProfile: limitProfile.name }),
    ...(customer != null && { customer }),
    ...(expiresAt && { expiresAt: timestampFromDate(expiresAt) }),
    ...(leaseDays != null && { leaseDays }),
    createdAt: timestampFromDate(license.createdAt),
    ...(revokedAt && { revokedAt: timestampFromDate(revokedAt) }),
    ...(revokeReason != null && { revokeReason }),
  };
}

export function seatToProto(seat: Seat): MessageInitShape<typeof SeatSchema> {
  return {
    seatId: formatId('seat', seat.id),
    licenseId: formatId('lic', seat.license.id),
    machineFingerprint: seat.machineFingerprint,
    machineLabel: seat.machineLabel,
    appVersion: seat.appVersion,
    activatedAt: timestampFromDate(seat.activatedAt),
    lastSeenAt: timestampFromDate(seat.lastSeenAt),
    ...(seat.releasedAt && { releasedAt: timestampFromDate(seat.releasedAt) }),
  };
}

/** Undefined becomes an empty map, since a protobuf map cannot be absent. */
export function limitsToProto(limits: Limits | undefined): Record<string, bigint> {
  return Object.fromEntries(Object.entries(limits ?? {}).map(([name, value]) => [name, BigInt(value)]));
}

/** An empty map becomes undefined. Validation has checked that the values are safe integers. */
export function limitsFromProto(limits: Record<string, bigint>): Limits | undefined {
  const entries = Object.entries(limits).map(([name, value]) => [name, Number(value)] as const);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** UNSPECIFIED becomes undefined. */
export function stateFromProto(state: LicenseState): LicenseStateName | undefined {
  return STATE_NAMES[state];
}

const LICENSE_STATES: Record<LicenseStateName, LicenseState> = {
  active: LicenseState.ACTIVE,
  revoked: LicenseState.REVOKED,
  expired: LicenseState.EXPIRED,
};

const STATE_NAMES: Record<LicenseState, LicenseStateName | undefined> = {
  [LicenseState.UNSPECIFIED]: undefined,
  [LicenseState.ACTIVE]: 'active',
  [LicenseState.REVOKED]: 'revoked',
  [LicenseState.EXPIRED]: 'expired',
};

function keyState(key: SigningKey): SigningKeyState {
  if (key.withdrawnAt != null) return SigningKeyState.WITHDRAWN;
  return key.retiredAt != null ? SigningKeyState.RETIRED : SigningKeyState.ACTIVE;
}
