// The terms of new licenses: those of the request, and the defaults of the app for the others.
import type { EntityManager } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { formatPeriod, type Period } from '../calendar-period.ts';
import type { App, License } from '../entities.ts';
import type { Limits, Metadata } from '../terms.ts';
import { checkExpiry } from './change/check-expiry.ts';
import { findLimitProfile } from './limit-profiles.ts';

export type RequestedTerms = {
  /** -1 means unlimited, 0 the default of the app. */
  readonly seatLimit: number;
  /** Override the limits of the profile. */
  readonly limits: Limits | undefined;
  readonly limitProfile?: string | undefined;
  readonly features: readonly string[];
  readonly expiresAt: Date | undefined;
  /** From the first activation. Excludes `expiresAt`. */
  readonly validFor?: Period | undefined;
  /** Undefined means the default of the app. */
  readonly graceDays?: number | undefined;
  /** 0 means no lease, undefined the default of the app. */
  readonly leaseDays?: number | undefined;
  readonly metadata: Metadata;
  /** Names of entries of `metadata`. */
  readonly signedMetadata: readonly string[];
};

export type NewTerms = Pick<
  License,
  | 'seatLimit'
  | 'limits'
  | 'leaseDays'
  | 'graceDays'
  | 'expiresAt'
  | 'validFor'
  | 'features'
  | 'metadata'
  | 'signedMetadata'
> & { readonly limitProfile: { readonly id: string; readonly name: string } | null };

/**
 * @throws HubError `limit_profile_unknown`, `expiry_invalid`, `period_invalid`, `signed_metadata_invalid`
 */
export async function resolveTerms(
  em: EntityManager,
  app: App,
  request: RequestedTerms,
  now: Date,
): Promise<NewTerms> {
  const { seatLimit, leaseDays, graceDays } = withDefaultTerms(app, request);
  if (request.expiresAt) checkExpiry(request.expiresAt, { graceDays, now });
  if (request.expiresAt && request.validFor) {
    throw new HubError('period_invalid', 'give expiresAt or validFor, not both', { field: 'validFor' });
  }
  checkSignedMetadata(request);
  return {
    seatLimit,
    limits: request.limits ?? null,
    limitProfile: request.limitProfile ? await findLimitProfile(em, app, request.limitProfile) : null,
    leaseDays,
    graceDays,
    expiresAt: request.expiresAt ?? null,
    validFor: request.validFor ? formatPeriod(request.validFor, 'validFor') : null,
    features: request.features.toSorted(),
    metadata: request.metadata,
    signedMetadata: request.signedMetadata.toSorted(),
  };
}

/** The requested terms, or those of the app where the request has none. */
export function withDefaultTerms(
  app: Pick<App, 'defaultSeatLimit' | 'defaultGraceDays' | 'defaultLeaseDays'>,
  { seatLimit, leaseDays, graceDays }: Pick<RequestedTerms, 'seatLimit' | 'leaseDays' | 'graceDays'>,
): Pick<License, 'seatLimit' | 'graceDays'> & { readonly leaseDays: number | null } {
  return {
    seatLimit: seatLimit || app.defaultSeatLimit,
    leaseDays: leaseDays === undefined ? (app.defaultLeaseDays ?? null) : leaseDays || null,
    graceDays: graceDays ?? app.defaultGraceDays,
  };
}

/** @throws HubError `signed_metadata_invalid` for a name without an entry of metadata */
export function checkSignedMetadata(
  terms: Pick<RequestedTerms, 'metadata' | 'signedMetadata'>,
  field = 'signedMetadata',
): void {
  const missing = terms.signedMetadata.find((name) => !Object.hasOwn(terms.metadata, name));
  if (missing === undefined) return;
  throw new HubError(
    'signed_metadata_invalid',
    `the license has no metadata "${missing}": set it, or do not sign it`,
    { field },
  );
}
