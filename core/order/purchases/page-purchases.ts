// Sells offers on the hub's own page, for vendors without a shop.
import type { BuyOfferRequest } from '../../../gen/hub/order/v1/order_service_pb.ts';
import type { Actor } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import type { Slot } from '../../payment/entities.ts';
import type { createCreateSession } from '../../payment/sessions/create-session.ts';
import type { createSessions } from '../../payment/sessions/list-sessions.ts';
import type { ClaimTokens } from '../claims/claim-tokens.ts';
import { formatOfferRef, offerUnknown } from '../offers/find-offer.ts';
import type { Offers } from '../offers/offer-admin.ts';

export type OfferPageOptions = {
  readonly offers: Pick<Offers, 'get'>;
  readonly createSession: ReturnType<typeof createCreateSession>;
  readonly sessions: Pick<ReturnType<typeof createSessions>, 'get'>;
  readonly claims: Pick<ClaimTokens, 'issue'>;
};

export function createOfferPage({ offers, createSession, sessions, claims }: OfferPageOptions) {
  /** @throws HubError `offer_unknown`, also for an offer that the page does not sell */
  const findOnSale = async (ref: string) => {
    const { offer, version } = await offers.get(ref);
    const slot = version.pageSlot as Slot | null | undefined;
    if (offer.archivedAt != null || slot == null) throw offerUnknown();
    return { offer, version, slot };
  };
  return {
    /** @throws HubError `offer_unknown` */
    async getOfferPage(ref: string) {
      const { offer, version } = await findOnSale(ref);
      return { appName: offer.app.name, offerName: version.name, prices: version.prices };
    },

    async buyOffer(purchase: BuyOfferRequest, actor: Actor) {
      const { currency, customerName, customerEmail, language } = purchase;
      const { offer, slot } = await findOnSale(purchase.offer);
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
