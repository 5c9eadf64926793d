// OfferService: administers offers.
import type { ServiceImpl } from '@connectrpc/connect';
import type { OfferService } from '../../gen/hub/order/v1/offer_service_pb.ts';
import type { OfferTerms } from '../../gen/hub/order/v1/order_pb.ts';
import { actorOf } from '../access/caller.ts';
import { offerInvalid } from '../errors.ts';
import { offerToProto } from './messages.ts';
import type { ChangedOffer, Offers } from './offers/offer-admin.ts';

export function createOfferService(offers: Offers): ServiceImpl<typeof OfferService> {
  const toReply = ({ changed, ...offer }: ChangedOffer) => ({ offer: offerToProto(offer), changed });
  return {
    async createOffer({ app, slug, terms }, context) {
      return { offer: offerToProto(await offers.create(slug, app, required(terms), actorOf(context))) };
    },

    async updateOffer({ offer, terms, expectedVersion }, context) {
      return toReply(await offers.update(offer, required(terms), expectedVersion, actorOf(context)));
    },

    async getOffer({ offer, version }) {
      return { offer: offerToProto(await offers.get(offer, version)) };
    },

    async listOffers(request) {
      const { items, nextPageToken } = await offers.list(request, request);
      return { offers: items.map(offerToProto), nextPageToken };
    },

    async archiveOffer({ offer }, context) {
      return toReply(await offers.setArchived(offer, true, actorOf(context)));
    },

    async unarchiveOffer({ offer }, context) {
      return toReply(await offers.setArchived(offer, false, actorOf(context)));
    },
  };
}

/** Contract validation requires the terms. */
function required(terms: OfferTerms | undefined): OfferTerms {
  if (terms !== undefined) return terms;
  throw offerInvalid('terms', 'set the terms of the offer');
}
