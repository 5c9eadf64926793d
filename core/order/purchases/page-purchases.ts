// Sells offers on the hub's own page, for vendors without a shop.
import type { Actor } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import type { Slot } from '../../payment/entities.ts';
import type { createCreateSession } from '../../payment/sessions/create-session.ts';
import type { createSessions } from '../../payment/sessions/list-sessions.ts';
import type { ClaimTokens } from '../claims/claim-tokens.ts';
import { offerUnknown } from '../offers/find-offer.ts';
import type { Offers } from '../offers/offer-admin.ts';
import { formatOfferRef } from '../offers/offer-ref.ts';
import type { Prices } from '../offers/prices.ts';

export type OfferPage = {
  readonly appName: string;
  readonly offerName: string;
  readonly prices: Prices;
};

/** Rejects with HubError `offer_unknown`, also for an offer that the page does not sell. */
export type GetOfferPage = (offer: string) => Promise<OfferPage>;

/** What a customer sends with the form of the page. */
export type PagePurchase = {
  /** `app/slug` */
  readonly offer: string;
  /** Empty if the offer has one price. */
  readonly currency: string;
  readonly customerName: string;
  readonly customerEmail: string;
  /** Empty for the default. */
  readonly language: string;
};

export type BuyOffer = (
  purchase: PagePurchase,
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
  const findOnSale = async (ref: string) => {
    const { offer, version } = await offers.get(ref);
    const slot = version.pageSlot as Slot | null | undefined;
    if (offer.archivedAt != null || slot == null) throw offerUnknown();
    return { offer, version, slot };
  };
  return {
    async getOfferPage(ref) {
      const { offer, version } = await findOnSale(ref);
      return { appName: offer.app.name, offerName: version.name, prices: version.prices };
    },

    async buyOffer({ offer: ref, currency, customerName, customerEmail, language }, actor) {
      const { offer, slot } = await findOnSale(ref);
      const id = await createSession(
        {
          slot: slot.name,
          amount: undefined,
          orderReference: '',
          customer: { ...(customerName && { name: customerName }), email: customerEmail },
          metadata: {},
          idempotencyKey: undefined,
          purchase: {
            offer: formatOfferRef(offer),
            quantity: 1,
            currency,
            customerId: undefined,
            licenseId: undefined,
          },
          // Finds the customer with this email address in any app. Anybody can write an address here, so the
          // response is the same whether the hub knows it.
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
