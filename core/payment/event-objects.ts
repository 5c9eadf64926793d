// Reads the charge sessions, refunds and callbacks of events.
import {
  CallbackSchema as CallbackMessage,
  ChargeSessionSchema as SessionMessage,
} from '../../gen/hub/payment/v1/payment_pb.ts';
import { RefundSchema as RefundMessage } from '../../gen/hub/payment/v1/refund_pb.ts';
import { type ObjectReaders, showObject } from '../event/read-objects.ts';
import type { Database } from '../storage/database.ts';
import { CallbackSchema, ChargeSessionSchema, RefundSchema } from './entities.ts';
import { callbackToProto, refundToProto } from './messages.ts';
import type { ShowSessions } from './sessions/session-messages.ts';
import { traceCallbacks } from './settlement/status-history.ts';

export function createPaymentReaders(
  db: Database,
  showSessions: ShowSessions,
): Pick<ObjectReaders, 'session' | 'refund' | 'callback'> {
  return {
    async session(ids) {
      const where = { id: { $in: [...ids] } };
      const sessions = await db.em().find(ChargeSessionSchema, where, { populate: ['slot'] });
      const shown = await showSessions(sessions);
      return new Map(
        sessions.map(({ id }, index) => [id, { data: showObject(SessionMessage, shown[index] ?? {}) }]),
      );
    },
    async refund(ids) {
      const where = { id: { $in: [...ids] } };
      const refunds = await db.em().find(RefundSchema, where, { populate: ['slot'] });
      return new Map(
        refunds.map((refund) => [refund.id, { data: showObject(RefundMessage, refundToProto(refund)) }]),
      );
    },
    async callback(ids) {
      const callbacks = await db.em().find(CallbackSchema, { id: { $in: [...ids] } });
      const traced = await traceCallbacks(db.pool, callbacks);
      return new Map(
        traced.map((each) => [
          each.callback.id,
          { data: showObject(CallbackMessage, callbackToProto(each)) },
        ]),
      );
    },
  };
}
