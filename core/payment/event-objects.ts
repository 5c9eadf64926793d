// Reads the charge sessions and callbacks of events.
import {
  CallbackSchema as CallbackMessage,
  ChargeSessionSchema as SessionMessage,
} from '../../gen/hub/payment/v1/payment_pb.ts';
import { type ObjectReaders, showObject } from '../event/objects.ts';
import type { Database } from '../storage/database.ts';
import { CallbackSchema, ChargeSessionSchema } from './entities.ts';
import { callbackToProto, sessionToProto } from './messages.ts';
import { traceCallbacks } from './settlement/status-history.ts';

export function createPaymentReaders(db: Database): Pick<ObjectReaders, 'session' | 'callback'> {
  return {
    async session(ids) {
      const where = { id: { $in: [...ids] } };
      const sessions = await db.em().find(ChargeSessionSchema, where, { populate: ['slot'] });
      return new Map(
        sessions.map((session) => [
          session.id,
          { data: showObject(SessionMessage, sessionToProto(session)) },
        ]),
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
