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
import type { AppWithKeys } from './admin/read-signing-keys.ts';
import { parsePeriod } from './calendar-period.ts';
import type { License, LimitProfile, Seat, SigningKey } from './entities.ts';
import { graceEndsAtMs, type LicenseStateName, licenseState } from './state.ts';
import { effectiveLimits, type Limits } from './terms.ts';

export function appToProto({ app, signingKeys }: AppWithKeys): MessageInitShape<typeof AppSchema> {
  return {
    appId: formatId('app', app.id),
    slug: app.slug,
    name: app.name,
    createdAt: timestampFromDate(app.createdAt),
    defaultTerms: {
      leaseDays: app.defaultLeaseDays ?? 0,
      graceDays: app.defaultGraceDays,
      seatLimit: app.defaultSeatLimit,
    },
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
  const { graceDays, suspendedAt, suspendReason, validFor } = license;
  const expiresAtMs = expiresAt?.getTime() ?? null;
  const graceEndsMs = graceEndsAtMs({ expiresAtMs, graceDays });
  return {
    licenseId: formatId('lic', license.id),
    app: license.app.slug,
    keyHint: license.keyHint,
    state: LICENSE_STATES[licenseStateOf(license, now)],
    seats: { limit: license.seatLimit, used: license.seatsUsed },
    limits: limitsToProto(effectiveLimits(limitProfile?.limits, license.limits ?? undefined)),
    ownLimits: limitsToProto(license.limits ?? undefined),
    ...(limitProfile && { limitProfile: limitProfile.name }),
    ...(customer && customer.name !== '' && { customer: customer.name }),
    ...(customer && { customerId: formatId('cus', customer.id) }),
    features: license.features,
    metadata: { ...license.metadata },
    signedMetadata: license.signedMetadata,
    termsVersion: license.termsVersion,
    ...(expiresAt && { expiresAt: timestampFromDate(expiresAt) }),
    graceDays,
    ...(graceEndsMs !== null && { graceEndsAt: timestampFromDate(new Date(graceEndsMs)) }),
    ...(validFor != null && { validFor: parsePeriod(validFor) }),
    ...(leaseDays != null && { leaseDays }),
    createdAt: timestampFromDate(license.createdAt),
    ...(suspendedAt && { suspendedAt: timestampFromDate(suspendedAt) }),
    ...(suspendReason != null && { suspendReason }),
    ...(revokedAt && { revokedAt: timestampFromDate(revokedAt) }),
    ...(revokeReason != null && { revokeReason }),
    keyGeneration: license.keyGeneration,
    keyDerivable: license.keySecret != null,
    ...(license.lastActiveOn != null && { lastActiveOn: license.lastActiveOn }),
  };
}

/** The state of a stored license. */
export function licenseStateOf(license: License, now: Date): LicenseStateName {
  const { revokedAt, suspendedAt, expiresAt, graceDays } = license;
  return licenseState(
    {
      revoked: revokedAt != null,
      suspended: suspendedAt != null,
      expiresAtMs: expiresAt?.getTime() ?? null,
      graceDays,
    },
    now,
  );
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
  grace: LicenseState.GRACE,
  suspended: LicenseState.SUSPENDED,
  revoked: LicenseState.REVOKED,
  expired: LicenseState.EXPIRED,
};

const STATE_NAMES: Record<LicenseState, LicenseStateName | undefined> = {
  [LicenseState.UNSPECIFIED]: undefined,
  [LicenseState.ACTIVE]: 'active',
  [LicenseState.GRACE]: 'grace',
  [LicenseState.SUSPENDED]: 'suspended',
  [LicenseState.REVOKED]: 'revoked',
  [LicenseState.EXPIRED]: 'expired',
};

function keyState(key: SigningKey): SigningKeyState {
  if (key.withdrawnAt != null) return SigningKeyState.WITHDRAWN;
  return key.retiredAt != null ? SigningKeyState.RETIRED : SigningKeyState.ACTIVE;
}
