// Sells offers on the hub's own page, for vendors without a shop.
import type { Actor } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import type { Slot } from '../../payment/entities.ts';
import type { createCreateSession } from '../../payment/sessions/create.ts';
import type { createSessions } from '../../payment/sessions/queries.ts';
import type { ClaimTokens } from '../claims/claim-tokens.ts';
import { offerUnknown } from '../offers/find-offer.ts';
import { type Offers, refOf } from '../offers/offers.ts';
import type { Prices } from '../offers/prices.ts';

export type OfferPage = {
  readonly appName: string;
  /** Name of the offer. */
  readonly name: string;
  readonly prices: Prices;
};

/** Rejects with HubError `offer_unknown`, also for an offer that the page does not sell. */
export type GetOfferPage = (offer: string) => Promise<OfferPage>;

export type PageOrder = {
  readonly offer: string;
  /** Empty if the offer has one price. */
  readonly currency: string;
  readonly customerName: string;
  readonly customerEmail: string;
  /** Empty for the default. */
  readonly language: string;
};

export type BuyOffer = (
  order: PageOrder,
  actor: Actor,
) => Promise<{ readonly sessionId: string; readonly checkoutUrl: string; readonly claimToken: string }>;

export type OfferPageOptions = {
  readonly offers: Pick<Offers, 'get'>;
  readonly createSession: ReturnType<typeof createCreateSession>;
  readonly sessions: Pick<ReturnType<typeof createSessions>, 'get'>;
  readonly claims: Pick<ClaimTokens, 'issue'>;
};

export function createOfferPage({ offers, createSession, sessions, claims }: OfferPageOptions): {
  readonly getOfferPage: GetOfferPage;
  readonly buyOffer: BuyOffer;
} {
  const find = async (ref: string) => {
    const { offer, version } = await offers.get(ref);
    const slot = version.pageSlot as Slot | null | undefined;
    if (offer.archivedAt != null || slot == null) throw offerUnknown();
    return { offer, version, slot };
  };
  return {
    async getOfferPage(ref) {
      const { offer, version } = await find(ref);
      const { name, prices } = version;
      return { appName: offer.app.name, name, prices };
    },

    async buyOffer({ offer: ref, currency, customerName, customerEmail, language }, actor) {
      const { offer, slot } = await find(ref);
      const id = await createSession(
        {
          slot: slot.name,
          amount: undefined,
          orderReference: '',
          customer: { ...(customerName && { name: customerName }), email: customerEmail },
          metadata: {},
          idempotencyKey: undefined,
          purchase: {
            offer: refOf(offer),
            quantity: 1,
            currency,
            customerId: undefined,
            licenseId: undefined,
          },
          // Anybody can type an email address here: the page may not show that the hub knows it.
          callerApps: undefined,
          returnUrl: '',
          language,
        },
        actor,
      );
      const sessionId = formatId('chs', id);
      const { checkoutUrl } = await sessions.get(sessionId);
      return { sessionId, checkoutUrl: checkoutUrl ?? '', claimToken: await claims.issue(id) };
    },
  };
}
