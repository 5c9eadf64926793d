// The terms of an offer from the options of `offer create` and `offer update`.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import type { LicenseGrant, OfferTerms, OfferTermsSchema } from '../../../gen/hub/order/v1/order_pb.ts';
import type { CalendarPeriod } from '../../../lib/presentation/calendar.ts';
import { REFUND_POLICIES } from '../../../lib/presentation/enum-names.ts';
import { usageError } from '../../errors/failure.ts';
import { parseCountOrZero, parseLimit, parsePair, parseSeats, parseText } from '../../parse/parse-number.ts';
import { parsePeriod } from '../../parse/parse-period.ts';
import { parsePrice } from '../../parse/parse-price.ts';
import { parseLeaseDays, parseNames } from '../../parse/parse-terms.ts';
import { choiceOption } from '../../parse/shared-options.ts';
import type { GrantName } from '../../views/orders/offer.ts';
import { addCatalogPriceOptions, type CatalogPriceOptions, changedCatalogPrices } from './catalog-prices.ts';

type GrantOptions = {
  readonly seats?: number;
  /** False for --no-profile. */
  readonly profile?: string | false;
  readonly limit?: Record<string, bigint>;
  readonly feature?: readonly string[];
  /** False for --no-valid-for. */
  readonly validFor?: CalendarPeriod | false;
  readonly graceDays?: number;
  readonly leaseDays?: number;
  readonly metadata?: Record<string, string>;
  readonly signMetadata?: readonly string[];
  readonly by?: CalendarPeriod;
};

export type TermOptions = GrantOptions & {
  readonly name?: string;
  readonly price?: Record<string, bigint>;
  /** False for --no-page-slot. */
  readonly pageSlot?: string | false;
  /** False for --no-download-url. */
  readonly downloadUrl?: string | false;
  readonly onRefund?: keyof typeof REFUND_POLICIES;
} & CatalogPriceOptions;

export type RemoveOptions = {
  readonly removePrice?: readonly string[];
  readonly removeLimit?: readonly string[];
  readonly removeFeature?: readonly string[];
  readonly removeMetadata?: readonly string[];
};

type Terms = Exclude<MessageInitShape<typeof OfferTermsSchema>, { $typeName: string }>;

export function addGrantOptions(command: Command): Command {
  return command
    .option(
      '--seats <n>',
      'of a new license: machines that can be active at the same time, or unlimited; otherwise the seats that a unit adds',
      parseSeats,
    )
    .option('--profile <profile>', 'limit profile of a new license')
    .option(
      '--limit <name=value>',
      'limit of a new license, which overrides the profile; repeatable',
      parseLimit,
    )
    .option('--feature <name>', 'feature that a new license unlocks; repeatable', parseNames)
    .option(
      '--valid-for <period>',
      'validity of a new license from its first activation: 1y, 6m, 2w, 30d, 1y6m (default: for ever)',
      parsePeriod,
    )
    .option(
      '--grace-days <n>',
      'days that a new license stays valid after its expiry (default: that of the app)',
      parseCountOrZero,
    )
    .option(
      '--lease-days <n>',
      'days that a signed license is valid without contacting the hub, or none (default: that of the app)',
      parseLeaseDays,
    )
    .option('--metadata <name=value>', 'your own data, kept with a new license; repeatable', parsePair)
    .option(
      '--sign-metadata <names>',
      'entries of metadata that signed licenses contain; repeatable',
      parseNames,
    )
    .option('--by <period>', 'period by which a unit renews: 1y, 6m, 2w, 30d, 1y6m', parsePeriod);
}

/** Adds the options of how the offer is sold. */
export function addSaleOptions(command: Command): Command {
  return addCatalogPriceOptions(command)
    .option('--page-slot <slot>', "the slot through which the hub's own page sells it")
    .option('--download-url <url>', 'where customers download the app, for order pages and mails', parseText)
    .addOption(
      choiceOption(
        '--on-refund <policy>',
        'what a full refund or a reversal does: suspend (default), revoke or keep new licenses; undo (default) or keep a renewal or more seats',
        REFUND_POLICIES,
      ),
    );
}

export const priceOption = (): Option =>
  new Option(
    '--price <currency=amount>',
    'price of one unit: BDT=100.00; repeatable, once for each currency',
  ).argParser(parsePrice);

/** The terms of a new offer. @throws CliError (usage) if an option does not fit the kind of the grant */
export function newTerms(grants: GrantName, options: TermOptions): Terms {
  requireFitting(grants, options);
  const { name = '', price = {}, pageSlot, downloadUrl, onRefund } = options;
  return {
    name,
    prices: pricesOf(price),
    grant: newGrant(grants, options),
    pageSlot: pageSlot || '',
    downloadUrl: downloadUrl || '',
    ...(onRefund && { onRefund: REFUND_POLICIES[onRefund] }),
    catalogPrices: changedCatalogPrices([], options),
  };
}

function newGrant(grants: GrantName, options: GrantOptions): NonNullable<Terms['grant']> {
  switch (grants) {
    case 'license':
      return { case: 'license', value: changedLicense({}, options) };
    case 'renewal': {
      const { by } = options;
      if (by === undefined) throw usageError('--grants renewal: give the period with --by, such as 1y.');
      return { case: 'renewal', value: { by } };
    }
    case 'seats': {
      const { seats } = options;
      if (seats === undefined) throw usageError('--grants seats: give their number with --seats.');
      return { case: 'seats', value: { seats } };
    }
  }
}

/**
 * The current terms with the given changes.
 * @throws CliError (usage) without a change, or if an option does not fit the offer
 */
export function changedTerms(current: OfferTerms, options: TermOptions & RemoveOptions): Terms {
  if (Object.keys(options).length === 0) throw usageError('Give a term to change, such as --price.');
  const { grant } = current;
  if (grant.case === undefined) {
    throw usageError('This hubctl does not know what the offer grants: use the version of the hub.');
  }
  requireFitting(grant.case, options);
  const { name, pageSlot, downloadUrl, onRefund } = options;
  return {
    name: name ?? current.name,
    prices: changedPrices(current.prices, options),
    grant: changedGrant(grant, options),
    pageSlot: pageSlot === undefined ? current.pageSlot : pageSlot || '',
    downloadUrl: downloadUrl === undefined ? current.downloadUrl : downloadUrl || '',
    onRefund: onRefund === undefined ? current.onRefund : REFUND_POLICIES[onRefund],
    catalogPrices: changedCatalogPrices(current.catalogPrices, options),
  };
}

function changedGrant(
  grant: OfferTerms['grant'],
  options: GrantOptions & RemoveOptions,
): NonNullable<Terms['grant']> {
  switch (grant.case) {
    case 'license':
      return { case: 'license', value: changedLicense(grant.value, options) };
    case 'renewal':
      return { case: 'renewal', value: options.by ? { by: options.by } : grant.value };
    case 'seats':
      return { case: 'seats', value: { seats: options.seats ?? grant.value.seats } };
    case undefined:
      return { case: undefined };
  }
}

type LicenseTerms = Partial<Omit<LicenseGrant, '$typeName' | '$unknown'>>;

/** Adds to lists, and replaces what has one value. */
function changedLicense(current: LicenseTerms, options: GrantOptions & RemoveOptions) {
  const { seats, profile, validFor = current.validFor, limit, metadata } = options;
  const { graceDays = current.graceDays, leaseDays = current.leaseDays } = options;
  const signed = without(union(current.signedMetadata, options.signMetadata), options.removeMetadata);
  return {
    seatLimit: seats ?? current.seatLimit ?? 0,
    limits: withoutKeys({ ...current.limits, ...limit }, options.removeLimit),
    limitProfile: profile === undefined ? (current.limitProfile ?? '') : profile || '',
    features: without(union(current.features, options.feature), options.removeFeature),
    ...(validFor && { validFor }),
    ...(graceDays !== undefined && { graceDays }),
    ...(leaseDays !== undefined && { leaseDays }),
    metadata: withoutKeys({ ...current.metadata, ...metadata }, options.removeMetadata),
    signedMetadata: signed,
  };
}

type Prices = NonNullable<Terms['prices']>;

/** A given price replaces the one in its currency. */
function changedPrices(
  current: OfferTerms['prices'],
  { price = {}, removePrice = [] }: TermOptions & RemoveOptions,
): Prices {
  for (const currency of removePrice) {
    if (Object.hasOwn(price, currency))
      throw usageError(`--price and --remove-price contradict each other for ${currency}: give one of them.`);
    if (!current.some((each) => each.currency === currency))
      throw usageError(`--remove-price ${currency}: the offer has no price in ${currency}.`);
  }
  const kept = current.filter(
    ({ currency }) => !removePrice.includes(currency) && !Object.hasOwn(price, currency),
  );
  const prices = [...kept, ...pricesOf(price)];
  if (prices.length === 0)
    throw usageError('--remove-price: the offer needs a price. Add another with --price, or archive it.');
  return prices;
}

function pricesOf(price: Readonly<Record<string, bigint>>): { minorUnits: bigint; currency: string }[] {
  return Object.entries(price).map(([currency, minorUnits]) => ({ minorUnits, currency }));
}

/** The options that belong to some kinds of grants only. */
const FITS: readonly (readonly [option: string, name: string, ...kinds: GrantName[]])[] = [
  ['seats', '--seats', 'license', 'seats'],
  ['by', '--by', 'renewal'],
  ['profile', '--profile', 'license'],
  ['limit', '--limit', 'license'],
  ['removeLimit', '--remove-limit', 'license'],
  ['feature', '--feature', 'license'],
  ['removeFeature', '--remove-feature', 'license'],
  ['validFor', '--valid-for', 'license'],
  ['graceDays', '--grace-days', 'license'],
  ['leaseDays', '--lease-days', 'license'],
  ['metadata', '--metadata', 'license'],
  ['removeMetadata', '--remove-metadata', 'license'],
  ['signMetadata', '--sign-metadata', 'license'],
];

const GRANTED: Readonly<Record<GrantName, string>> = {
  license: 'new licenses',
  renewal: 'a renewal',
  seats: 'more seats',
};

/** @throws CliError (usage) for an option that belongs to another kind of grant */
function requireFitting(grants: GrantName, options: object): void {
  for (const [option, name, ...kinds] of FITS) {
    if (!Object.hasOwn(options, option) || kinds.includes(grants)) continue;
    const meant = kinds.map((kind) => GRANTED[kind]).join(' or ');
    throw usageError(`${name} belongs to offers of ${meant}. This offer grants ${GRANTED[grants]}.`);
  }
}

function union(current: readonly string[] = [], added: readonly string[] = []): string[] {
  return [...new Set([...current, ...added])];
}

function without(items: readonly string[], removed: readonly string[] = []): string[] {
  return items.filter((item) => !removed.includes(item));
}

function withoutKeys<T>(
  map: Readonly<Record<string, T>>,
  removed: readonly string[] = [],
): Record<string, T> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => !removed.includes(name)));
}
