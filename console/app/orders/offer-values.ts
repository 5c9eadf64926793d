// Converts between the terms of an offer and the fields of its form.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { LicenseGrant, OfferTerms, OfferTermsSchema } from '../../../gen/hub/order/v1/order_pb.ts';
import { messageOf } from '../../../lib/caught-error.ts';
import type { CalendarPeriod } from '../../../lib/presentation/calendar.ts';
import { numberOf, REFUND_POLICIES, wordFor } from '../../../lib/presentation/enum-names.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { parseDecimal } from '../../../lib/presentation/parse-decimal.ts';
import { limitText } from '../components/values.tsx';
import { limitLines, pairLines, readPairs, wholeNumber } from '../forms/field-values.ts';
import { FieldError } from '../forms/form-errors.ts';
import { emptyValues, required, type Values } from '../forms/form-state.ts';
import { readPeriod } from '../forms/period-fields.tsx';
import { readGivenTerms, TERM_LABELS } from '../licensing/terms-values.ts';

/** `seats` are those that a unit adds, `seatLimit` those of a new license. */
export const OFFER_LABELS = {
  ...TERM_LABELS,
  app: 'App',
  slug: 'Short name',
  name: 'Name',
  prices: 'Prices',
  grants: 'Grants',
  validity: 'Valid',
  years: 'Years',
  months: 'Months',
  days: 'Days',
  seats: 'Seats',
  pageSlot: 'Sold on the hub’s own page',
  downloadUrl: 'Download address',
  onRefund: 'On a refund',
  catalogPrices: 'Prices at providers',
};

export type OfferKey = keyof typeof OFFER_LABELS;

export const NEW_OFFER: Values<OfferKey> = {
  ...emptyValues(OFFER_LABELS),
  grants: 'license',
  validity: 'ever',
};

/** The refund policies for a kind of grant. The first choice, whose name is empty, is the default of the hub. */
export function refundChoices(grants: string): readonly (readonly [name: string, label: string])[] {
  return grants === 'license' ? LICENSE_CHOICES : OTHER_CHOICES;
}

const LICENSE_CHOICES = [
  ['', 'suspend the licenses'],
  ['revoke', 'revoke the licenses'],
  ['keep', 'keep the licenses'],
] as const;

const OTHER_CHOICES = [
  ['', 'take back what the order gave'],
  ['keep', 'keep the license as it is'],
] as const;

export function offerValues(terms: OfferTerms | undefined): Values<OfferKey> {
  if (terms === undefined) return NEW_OFFER;
  const { name, grant, pageSlot, downloadUrl } = terms;
  const prices = terms.prices
    .map(({ minorUnits, currency }) => `${currency}=${formatDecimal(minorUnits, currency)}`)
    .join('\n');
  const policy = wordFor(REFUND_POLICIES, terms.onRefund);
  const onRefund = isRefundChoice(grant.case ?? '', policy) ? policy : '';
  const catalogPrices = terms.catalogPrices.map(({ gateway, price }) => `${gateway}=${price}`).join('\n');
  const common = { ...NEW_OFFER, name, prices, pageSlot, downloadUrl, onRefund, catalogPrices };
  switch (grant.case) {
    case 'license':
      return { ...common, grants: 'license', ...licenseValues(grant.value) };
    case 'renewal':
      return { ...common, grants: 'renewal', ...periodValues(grant.value.by) };
    case 'seats':
      return { ...common, grants: 'seats', seats: String(grant.value.seats) };
    case undefined:
      return { ...common, grants: '' };
  }
}

function isRefundChoice(grants: string, policy: string): boolean {
  return refundChoices(grants).some(([name]) => name === policy);
}

function licenseValues(grant: LicenseGrant) {
  const { seatLimit, limits, limitProfile, features, validFor, graceDays, leaseDays } = grant;
  return {
    seatLimit: seatLimit === 0 ? '' : limitText(seatLimit),
    limitProfile,
    limits: limitLines(limits),
    features: features.join(', '),
    graceDays: graceDays === undefined ? '' : String(graceDays),
    leaseDays: leaseDays === undefined ? '' : String(leaseDays),
    metadata: pairLines(grant.metadata),
    signedMetadata: grant.signedMetadata.join(', '),
    validity: validFor ? 'first' : 'ever',
    ...periodValues(validFor),
  };
}

function periodValues(period: CalendarPeriod | undefined) {
  const text = (part: number | undefined): string => (part ? String(part) : '');
  return { years: text(period?.years), months: text(period?.months), days: text(period?.days) };
}

/** @throws FieldError if a value is missing or cannot be read */
export function readTerms(values: Values<OfferKey>): MessageInitShape<typeof OfferTermsSchema> {
  return {
    name: required(values, 'name', 'Enter the name that customers see.'),
    prices: readPrices(values),
    grant: readGrant(values),
    pageSlot: values.grants === 'license' ? values.pageSlot : '',
    downloadUrl: values.downloadUrl.trim(),
    onRefund: isRefundChoice(values.grants, values.onRefund) ? numberOf(REFUND_POLICIES, values.onRefund) : 0,
    catalogPrices: values.grants === 'license' ? readCatalogPrices(values.catalogPrices) : [],
  };
}

/** One `gateway=price` a line; a gateway can have several. */
function readCatalogPrices(text: string) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const [, gateway, price] = /^(\w+)=(\S+)$/.exec(line) ?? [];
      if (gateway && price) return { gateway, price };
      throw new FieldError('catalogPrices', `${line}: write it as stripe=price_…`);
    });
}

function readPrices(values: Values<OfferKey>) {
  const pairs = Object.entries(readPairs('prices', required(values, 'prices', 'Enter at least one price.')));
  return pairs.map(([currency, decimal]) => {
    try {
      return { minorUnits: parseDecimal(decimal, currency), currency };
    } catch (error) {
      throw new FieldError('prices', `${currency}: ${messageOf(error)}`);
    }
  });
}

function readGrant(values: Values<OfferKey>) {
  switch (values.grants) {
    case 'renewal':
      return { case: 'renewal' as const, value: { by: readPeriod(values) } };
    case 'seats':
      return { case: 'seats' as const, value: { seats: wholeNumber('seats', values.seats) } };
    default:
      return { case: 'license' as const, value: readLicense(values) };
  }
}

function readLicense(values: Values<OfferKey>) {
  return {
    ...readGivenTerms(values),
    ...(values.validity === 'first' && { validFor: readPeriod(values) }),
  };
}
