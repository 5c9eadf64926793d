// The options that name prices in the catalogs of providers: one for each gateway with a catalog.
import type { Command } from 'commander';
import type { OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import { GATEWAYS } from '../../../lib/presentation/gateways.ts';
import { usageError } from '../../errors/failure.ts';
import { parseNames } from '../../parse/parse-terms.ts';

/** `stripePrice` and `removeStripePrice`. */
export type CatalogPriceOptions = { readonly [option: `${string}Price`]: unknown };

type CatalogPrice = { readonly gateway: string; readonly price: string };

const SELLERS = GATEWAYS.filter(({ hasPrices }) => hasPrices).map(({ name }) => ({
  name,
  flag: `--${name.replaceAll('_', '-')}-price`,
}));

export function addCatalogPriceOptions(command: Command): Command {
  for (const { name, flag } of SELLERS) {
    command.option(
      `${flag} <price>`,
      `price of ${name}: the offer grants purchases of it without the hub, such as by a payment link; repeatable`,
      parseNames,
    );
  }
  return command;
}

/** For `offer update`. */
export function addRemoveCatalogPriceOptions(command: Command): Command {
  for (const { name, flag } of SELLERS) {
    command.option(
      flag.replace('--', '--remove-').concat(' <price>'),
      `price of ${name} to remove; repeatable`,
      parseNames,
    );
  }
  return command;
}

/**
 * The current prices with the given changes.
 * @throws CliError (usage) for a price to remove that the offer does not have
 */
export function changedCatalogPrices(current: OfferTerms['catalogPrices'], options: object): CatalogPrice[] {
  let prices = current.map(({ gateway, price }): CatalogPrice => ({ gateway, price }));
  for (const { name, flag } of SELLERS) {
    const removeFlag = flag.replace('--', '--remove-');
    const removed = namesIn(options, removeFlag);
    const has = (price: string) => prices.some((each) => each.gateway === name && each.price === price);
    const unknown = removed.find((price) => !has(price));
    if (unknown !== undefined)
      throw usageError(`${removeFlag} ${unknown}: the offer does not name this price.`);
    prices = prices.filter(({ gateway, price }) => gateway !== name || !removed.includes(price));
    const added = namesIn(options, flag).filter((price) => !has(price));
    prices.push(...added.map((price) => ({ gateway: name, price })));
  }
  return prices;
}

/** The values of an option, by its flag: `--stripe-price` is `stripePrice`. */
function namesIn(options: object, flag: string): readonly string[] {
  const name = flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.entries(options).find(([option]) => option === name)?.[1] ?? [];
}
