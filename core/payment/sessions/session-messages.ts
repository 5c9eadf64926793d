// Shows charge sessions as messages, with what they sell.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ChargeSessionSchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { ChargeSession } from '../entities.ts';
import { sessionToProto } from '../messages.ts';
import type { Sales } from '../order-interface.ts';

type SessionMessage = MessageInitShape<typeof ChargeSessionSchema>;

/** Shows sessions, in their order. Requires populated slots. */
export type ShowSessions = (sessions: readonly ChargeSession[]) => Promise<SessionMessage[]>;

export function createShowSessions({ readPurchases }: Pick<Sales, 'readPurchases'>): ShowSessions {
  return async (sessions) => {
    const selling = sessions.filter(({ hasPurchase }) => hasPurchase).map(({ id }) => id);
    const purchases = selling.length > 0 ? await readPurchases(selling) : undefined;
    return sessions.map((session) => sessionToProto(session, purchases?.get(session.id)));
  };
}

export async function showSession(show: ShowSessions, session: ChargeSession): Promise<SessionMessage> {
  const [message] = await show([session]);
  return message ?? {};
}
