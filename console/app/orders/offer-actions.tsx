// The actions on an offer that the role of the caller and the state of the offer allow.
import type { Offer } from '../../../gen/hub/order/v1/order_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { useSignedIn } from '../sign-in-state.ts';
import { EditOffer } from './offer-form.tsx';

/** `offer`: with its current terms. */
type OfferProps = { readonly offer: Offer };

export function OfferActions(props: OfferProps) {
  const { may } = useSignedIn();
  const isArchived = props.offer.archivedAt !== undefined;
  return (
    <>
      {may('offers.updateOffer') && <EditOffer {...props} />}
      {may('offers.archiveOffer') && !isArchived && <Archive {...props} />}
      {may('offers.unarchiveOffer') && isArchived && <Unarchive {...props} />}
    </>
  );
}

function Archive({ offer: { offerId } }: OfferProps) {
  const { hub } = useSignedIn();
  const archive = async (): Promise<string> => {
    await hub.offers.archiveOffer({ offer: offerId });
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

function Unarchive({ offer: { offerId } }: OfferProps) {
  const { hub } = useSignedIn();
  const unarchive = async (): Promise<string> => {
    await hub.offers.unarchiveOffer({ offer: offerId });
    return 'The offer is for sale again.';
  };
  return (
    <Confirm action="Unarchive" question="Put this offer on sale again?" run={unarchive}>
      <p>Customers can buy it by its current terms.</p>
    </Confirm>
  );
}
