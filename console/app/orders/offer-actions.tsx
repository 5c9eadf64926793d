// The actions on an offer that the role of the caller and the state of the offer allow.
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import type { Offer } from '../../../gen/hub/order/v1/order_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { canCall } from '../permissions.ts';
import type { SignedIn } from '../signed-in.ts';
import { EditOffer } from './offer-form.tsx';

type ActionProps = {
  readonly who: SignedIn;
  /** The offer with its current terms. */
  readonly offer: Offer;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

export function OfferActions(props: ActionProps) {
  const { who, offer } = props;
  const { method } = OfferService;
  const isArchived = offer.archivedAt !== undefined;
  return (
    <>
      {canCall(who.caller, method.updateOffer) && <EditOffer {...props} />}
      {canCall(who.caller, method.archiveOffer) && !isArchived && <Archive {...props} />}
      {canCall(who.caller, method.unarchiveOffer) && isArchived && <Unarchive {...props} />}
    </>
  );
}

function Archive({ who, offer: { offerId }, onDone }: ActionProps) {
  const archive = async (): Promise<string> => {
    await who.hub.offers.archiveOffer({ offer: offerId });
    await onDone();
    return 'The offer is archived.';
  };
  return (
    <Confirm action="Archive" question="Archive this offer?" dangerous run={archive}>
      <p>
        Nobody can buy it any more. Sessions that exist can still be paid, and are fulfilled. You can put the
        offer on sale again.
      </p>
    </Confirm>
  );
}

function Unarchive({ who, offer: { offerId }, onDone }: ActionProps) {
  const unarchive = async (): Promise<string> => {
    await who.hub.offers.unarchiveOffer({ offer: offerId });
    await onDone();
    return 'The offer is for sale again.';
  };
  return (
    <Confirm action="Unarchive" question="Put this offer on sale again?" run={unarchive}>
      <p>Customers can buy it by its current terms.</p>
    </Confirm>
  );
}
