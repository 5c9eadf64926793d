// Reads what the pages of orders show beside the order: its offer, its session, its licenses and its machines.

import type { License, Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import type { Offer, Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { type ChargeSession, ChargeStatus } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { firstMachines } from '../../../lib/presentation/first-machines.ts';
import type { SignedIn } from '../sign-in-state.ts';

/** What the caller may not see is missing. */
export type OrderFacts = {
  readonly order: Order;
  readonly session: ChargeSession | undefined;
  /** The version of the offer that was sold. */
  readonly offer: Offer | undefined;
  readonly licenses: ReadonlyMap<string, License>;
  readonly machines: readonly Seat[];
};

/** The page shows the state of so many licenses. */
const LICENSES = 10;

/** Whether the payment went back to the customer: the hub grants nothing for it any more. */
export function isReversed(session: ChargeSession | undefined): boolean {
  return session !== undefined && session.status !== ChargeStatus.SUCCESS;
}

export async function loadOrder(who: SignedIn, id: string, signal: AbortSignal): Promise<OrderFacts> {
  const { hub, may } = who;
  const { order } = await hub.orders.getOrder({ order: id }, { signal });
  if (order === undefined) throw new Error('the hub returned no order');
  const { sessionId, offerId, offerVersion } = order;
  const read = async (licenseId: string) =>
    (await hub.licenses.getLicense({ licenseId }, { signal })).license;
  const shown = may('licenses.getLicense') ? order.licenses.slice(0, LICENSES) : [];
  const [session, offer, licenses, machines] = await Promise.all([
    may('payments.getChargeSession') ? hub.payments.getChargeSession({ sessionId }, { signal }) : undefined,
    may('offers.getOffer')
      ? hub.offers.getOffer({ offer: offerId, version: offerVersion }, { signal })
      : undefined,
    Promise.all(shown.map(({ licenseId }) => read(licenseId))),
    machinesOf(who, order, signal),
  ]);
  return {
    order,
    session: session?.session,
    offer: offer?.offer,
    licenses: new Map(licenses.flatMap((each) => (each ? [[each.licenseId, each]] : []))),
    machines,
  };
}

/** The first machines that activated the licenses of an order; empty for callers that may not see them. */
export async function machinesOf(
  { hub, may }: SignedIn,
  order: Order | undefined,
  signal: AbortSignal,
): Promise<Seat[]> {
  if (!may('licenses.listSeats')) return [];
  return firstMachines(order, (request) => hub.licenses.listSeats(request, { signal }));
}
