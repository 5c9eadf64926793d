// hubctl offer: what customers can buy.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf, type Register } from '../../command-help.ts';
import { readPages, requireField } from '../../connect/calls.ts';
import { parseCount, parseText } from '../../parse/parse-number.ts';
import { parseCurrencies } from '../../parse/parse-price.ts';
import { parseNames } from '../../parse/parse-terms.ts';
import { maxOption } from '../../parse/shared-options.ts';
import {
  GRANTS,
  type GrantName,
  OFFER,
  OFFER_COLUMNS,
  OFFER_FIELDS,
  offerView,
} from '../../views/orders/offer.ts';
import { addRemoveCatalogPriceOptions } from './catalog-prices.ts';
import {
  addGrantOptions,
  addSaleOptions,
  changedTerms,
  newTerms,
  priceOption,
  type RemoveOptions,
  type TermOptions,
} from './offer-terms.ts';

type CreateOptions = TermOptions & {
  readonly app: string;
  readonly slug: string;
  readonly grants: GrantName;
};

const EXAMPLE = 'photo-lab/pro';

export const registerOffer = nounOf(
  'offer',
  'What customers can buy: new licenses of an app, the renewal of a license, or more seats for one. `hubctl session create --offer` sells an offer.',
  [addCreateVerb, addListVerb, addShowVerb, addUpdateVerb, archiveVerb('archive'), archiveVerb('unarchive')],
);

function addCreateVerb(offer: Command, { hub, out }: CommandContext): void {
  const create = addVerb(offer, 'create', {
    summary: 'create an offer',
    description:
      'Creates an offer with version 1 of its terms. A paid session grants what the offer sells, once for each unit.',
    examples: [
      'hubctl offer create --app photo-lab --slug pro --name Pro --price BDT=100.00 --price USD=9.00 --seats 2 --feature export --valid-for 1y',
      'hubctl offer create --app photo-lab --slug renewal --name "One more year" --price USD=5.00 --grants renewal --by 1y',
      'hubctl offer create --app photo-lab --slug seats --name "Five more seats" --price USD=20.00 --grants seats --seats 5',
    ],
    prints: { document: OFFER },
  })
    .requiredOption('--app <app>', 'the app')
    .requiredOption(
      '--slug <slug>',
      'name of the offer within the app: lower-case letters, digits, inner dashes',
    )
    .requiredOption('--name <text>', 'name that customers see', parseText)
    .addOption(priceOption().makeOptionMandatory())
    .addOption(
      new Option('--grants <what>', 'what a paid order grants').choices([...GRANTS]).default('license'),
    );
  addSaleOptions(addGrantOptions(create)).action(async ({ app, slug, grants, ...options }: CreateOptions) => {
    const terms = newTerms(grants, options);
    const reply = await hub.offers.createOffer({ app, slug, terms });
    await out.record(offerView(reply.offer), OFFER_FIELDS);
  });
}

function addListVerb(offer: Command, { hub, out }: CommandContext): void {
  addVerb(offer, 'list', {
    summary: 'list offers',
    description: 'Lists offers, newest first.',
    examples: ['hubctl offer list --app photo-lab'],
    prints: { list: OFFER },
  })
    .option('--app <app>', 'only of this app')
    .option('--all', 'include archived offers')
    .addOption(maxOption())
    .action(async ({ app, all, max }: { app?: string; all?: true; max?: number }) => {
      const wanted = { app, includeArchived: all === true };
      const pages = readPages(hub.offers.listOffers, wanted, 'offers', offerView);
      await out.list(pages(max), OFFER_COLUMNS, {
        none: all
          ? 'No offers. Create one with `hubctl offer create`.'
          : 'No offer is for sale. See archived ones with --all, or create one with `hubctl offer create`.',
      });
    });
}

function addShowVerb(offer: Command, { hub, out }: CommandContext): void {
  addVerb(offer, 'show', {
    summary: 'show an offer',
    description: 'Shows an offer with its current terms, or with those of an earlier version.',
    examples: [`hubctl offer show ${EXAMPLE}`, `hubctl offer show ${EXAMPLE} --offer-version 1`],
    prints: { document: OFFER },
  })
    .argument('<offer>', 'the offer, as app/slug or ofr_…')
    .option('--offer-version <n>', 'the version to show (default: the current one)', parseCount)
    .action(async (ref: string, { offerVersion = 0 }: { offerVersion?: number }) => {
      const reply = await hub.offers.getOffer({ offer: ref, version: offerVersion });
      await out.record(offerView(reply.offer), OFFER_FIELDS);
    });
}

function addUpdateVerb(offer: Command, { hub, out }: CommandContext): void {
  const update = addVerb(offer, 'update', {
    summary: 'change the terms of an offer',
    description:
      'Changes the given terms and keeps the others, as a new version. Sessions that exist keep their version. If somebody else changes the offer at the same time, one of the commands fails: repeat it.',
    examples: [
      `hubctl offer update ${EXAMPLE} --price USD=12.00 --remove-price BDT`,
      `hubctl offer update ${EXAMPLE} --seats 3 --remove-feature export`,
    ],
    prints: { document: OFFER },
  })
    .argument('<offer>', 'the offer, as app/slug or ofr_…')
    .option('--name <text>', 'name that customers see', parseText)
    .addOption(priceOption())
    .option('--remove-price <currency>', 'price to remove; repeatable', parseCurrencies);
  addRemoveCatalogPriceOptions(addSaleOptions(addGrantOptions(update)))
    .option('--no-profile', 'no limit profile')
    .option('--remove-limit <name>', 'limit to remove; repeatable', parseNames)
    .option('--remove-feature <name>', 'feature to remove; repeatable', parseNames)
    .option('--no-valid-for', 'new licenses are valid for ever')
    .option('--remove-metadata <name>', 'entry of your own data to remove; repeatable', parseNames)
    .option('--no-page-slot', "the hub's own page does not sell it")
    .option('--no-download-url', 'no address of a download')
    .action(async (ref: string, options: TermOptions & RemoveOptions) => {
      const current = requireField((await hub.offers.getOffer({ offer: ref })).offer, 'offer');
      const terms = changedTerms(requireField(current.terms, 'terms'), options);
      const reply = await hub.offers.updateOffer({ offer: ref, terms, expectedVersion: current.version });
      await out.record(offerView(reply.offer), OFFER_FIELDS);
      if (!reply.changed) out.note('Nothing changed: the offer has these terms already.');
    });
}

const ARCHIVED = {
  archive: {
    summary: 'take an offer off sale',
    description:
      'Takes an offer off sale. Sessions that exist can still be paid, and are fulfilled. `offer unarchive` reverts this.',
    unchanged: 'Nothing changed: the offer is archived already.',
  },
  unarchive: {
    summary: 'put an archived offer on sale again',
    description: 'Puts an archived offer on sale again.',
    unchanged: 'Nothing changed: the offer is for sale already.',
  },
} as const;

/** `offer archive` and `offer unarchive`. */
function archiveVerb(verb: 'archive' | 'unarchive'): Register {
  return (offer, { hub, out }) => {
    const { summary, description, unchanged } = ARCHIVED[verb];
    addVerb(offer, verb, {
      summary,
      description,
      examples: [`hubctl offer ${verb} ${EXAMPLE}`],
      prints: { document: OFFER },
    })
      .argument('<offer>', 'the offer, as app/slug or ofr_…')
      .action(async (ref: string) => {
        const reply =
          verb === 'archive'
            ? await hub.offers.archiveOffer({ offer: ref })
            : await hub.offers.unarchiveOffer({ offer: ref });
        await out.record(offerView(reply.offer), OFFER_FIELDS);
        if (!reply.changed) out.note(unchanged);
      });
  };
}
