// The grant of an offer: what a paid order gives the customer, as a version of the offer stores it.
import type { OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import { offerInvalid } from '../../errors.ts';
import { checkSignedMetadata } from '../../license/admin/issue-terms.ts';
import { formatPeriod, type Period } from '../../license/calendar-period.ts';
import { limitsFromProto, limitsToProto } from '../../license/messages.ts';
import type { Limits, Metadata } from '../../license/terms.ts';

export type LicenseGrant = {
  readonly kind: 'license';
  /** -1 means unlimited, 0 the default of the app. */
  readonly seatLimit: number;
  readonly limits: Limits | null;
  readonly limitProfile: { readonly id: string; readonly name: string } | null;
  /** Sorted. */
  readonly features: readonly string[];
  /** From the first activation; null for ever. */
  readonly validFor: Period | null;
  /** Null means the default of the app. */
  readonly graceDays: number | null;
  /** 0 means no lease, null the default of the app. */
  readonly leaseDays: number | null;
  readonly metadata: Metadata;
  /** Sorted. */
  readonly signedMetadata: readonly string[];
};

export type RenewalGrant = { readonly kind: 'renewal'; readonly by: Period };

export type SeatsGrant = { readonly kind: 'seats'; readonly seats: number };

export type Grant = LicenseGrant | RenewalGrant | SeatsGrant;

/**
 * Reads the grant of a request.
 *
 * @param findProfile returns the limit profile of the app with a name
 * @throws HubError `offer_invalid` without a grant, `period_invalid`, `signed_metadata_invalid`, and the
 * errors of `findProfile`
 */
export async function grantFromProto(
  { grant }: OfferTerms,
  findProfile: (name: string) => Promise<{ readonly id: string; readonly name: string }>,
): Promise<Grant> {
  switch (grant.case) {
    case 'license': {
      const { seatLimit, limits, limitProfile, features, validFor, graceDays, leaseDays } = grant.value;
      const { metadata, signedMetadata } = grant.value;
      if (validFor) formatPeriod(validFor, 'terms.license.validFor'); // throws for an empty period
      checkSignedMetadata(grant.value, 'terms.license.signedMetadata');
      return {
        kind: 'license',
        seatLimit,
        limits: limitsFromProto(limits) ?? null,
        limitProfile: limitProfile === '' ? null : await findProfile(limitProfile),
        features: features.toSorted(),
        validFor: validFor ? periodOf(validFor) : null,
        graceDays: graceDays ?? null,
        leaseDays: leaseDays ?? null,
        metadata,
        signedMetadata: signedMetadata.toSorted(),
      };
    }
    case 'renewal': {
      const by = periodOf(grant.value.by ?? { years: 0, months: 0, days: 0 });
      formatPeriod(by, 'terms.renewal.by'); // throws for an empty period
      return { kind: 'renewal', by };
    }
    case 'seats':
      return { kind: 'seats', seats: grant.value.seats };
    case undefined:
      throw offerInvalid('terms', 'set terms.license, terms.renewal or terms.seats');
  }
}

export function grantToProto(grant: Grant) {
  switch (grant.kind) {
    case 'license': {
      const { kind: _, limits, limitProfile, validFor, graceDays, leaseDays, ...rest } = grant;
      const value = {
        ...rest,
        features: [...rest.features],
        signedMetadata: [...rest.signedMetadata],
        limits: limitsToProto(limits ?? undefined),
        limitProfile: limitProfile?.name ?? '',
        ...(validFor && { validFor }),
        ...(graceDays !== null && { graceDays }),
        ...(leaseDays !== null && { leaseDays }),
      };
      return { case: 'license', value } as const;
    }
    case 'renewal':
      return { case: 'renewal', value: { by: grant.by } } as const;
    case 'seats':
      return { case: 'seats', value: { seats: grant.seats } } as const;
  }
}

/** Leaves out what only messages have. */
function periodOf({ years, months, days }: Period): Period {
  return { years, months, days };
}
