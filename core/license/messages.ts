// Converts between the license module's entities and its protobuf messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type AppSchema,
  type LicenseSchema,
  type LimitProfileSchema,
  type SeatSchema,
  SigningKeyState,
} from '../../gen/hub/license/v1/license_pb.ts';
import { LICENSE_STATES } from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import { timestampsIn } from '../timestamp.ts';
import type { AppWithKeys } from './admin/read-signing-keys.ts';
import { parsePeriod } from './calendar-period.ts';
import type { License, LimitProfile, Seat, SigningKey } from './entities.ts';
import { graceEndsAtMs, licenseState } from './state.ts';
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
  const { limitProfile, customer, leaseDays, revokeReason, graceDays, suspendReason, validFor } = license;
  const expiresAtMs = license.expiresAt?.getTime() ?? null;
  const graceEndsMs = graceEndsAtMs({ expiresAtMs, graceDays });
  const [revoked, suspended] = [license.revokedAt != null, license.suspendedAt != null];
  return {
    licenseId: formatId('lic', license.id),
    app: license.app.slug,
    keyHint: license.keyHint,
    state: LICENSE_STATES[licenseState({ revoked, suspended, expiresAtMs, graceDays }, now)],
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
    ...timestampsIn(license, 'createdAt', 'expiresAt', 'suspendedAt', 'revokedAt'),
    graceDays,
    ...(graceEndsMs !== null && { graceEndsAt: timestampFromDate(new Date(graceEndsMs)) }),
    ...(validFor != null && { validFor: parsePeriod(validFor) }),
    ...(leaseDays != null && { leaseDays }),
    ...(suspendReason != null && { suspendReason }),
    ...(revokeReason != null && { revokeReason }),
    keyGeneration: license.keyGeneration,
    keyDerivable: license.keySecret != null,
    ...(license.lastActiveOn != null && { lastActiveOn: license.lastActiveOn }),
  };
}

export function seatToProto(seat: Seat): MessageInitShape<typeof SeatSchema> {
  return {
    seatId: formatId('seat', seat.id),
    licenseId: formatId('lic', seat.license.id),
    machineFingerprint: seat.machineFingerprint,
    machineLabel: seat.machineLabel,
    appVersion: seat.appVersion,
    ...timestampsIn(seat, 'activatedAt', 'lastSeenAt', 'releasedAt'),
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

function keyState(key: SigningKey): SigningKeyState {
  if (key.withdrawnAt != null) return SigningKeyState.WITHDRAWN;
  return key.retiredAt != null ? SigningKeyState.RETIRED : SigningKeyState.ACTIVE;
}
