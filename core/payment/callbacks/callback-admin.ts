// Reads the callback journal for operators.
import type { FilterQuery } from '@mikro-orm/postgresql';
import type { ListCallbacksRequest } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { findById } from '../../storage/sql/find-by-id.ts';
import { findPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import {
  type Callback,
  CallbackSchema,
  type CallbackStateName,
  type Verification,
  VerificationSchema,
} from '../entities.ts';
import { findSession } from '../sessions/list-sessions.ts';
import { type TracedCallback, traceCallbacks } from '../settlement/status-history.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';

export type CallbackFilter = Pick<ListCallbacksRequest, 'gateway' | 'sessionId'> & {
  readonly state: CallbackStateName | undefined;
};

/** The latest verifications of a callback that are shown. */
const MAX_VERIFICATIONS = 200;

export function createCallbacks({ db, driverOf }: Pick<AdminDependencies, 'db' | 'driverOf'>) {
  const trace = async (callback: Callback): Promise<TracedCallback> => {
    const [traced] = await traceCallbacks(db.pool, [callback]);
    return traced ?? { callback, replayedAt: [], sessionStatus: undefined };
  };
  return {
    /** @throws HubError `gateway_unknown`, `session_unknown`, `page_token_invalid` */
    async list(filter: CallbackFilter, request: PageRequest): Promise<Page<TracedCallback>> {
      const em = db.em();
      const where: FilterQuery<Callback>[] = [];
      if (filter.sessionId !== undefined) where.push({ session: await findSession(em, filter.sessionId) });
      if (filter.state !== undefined) where.push({ state: filter.state });
      if (filter.gateway !== undefined) where.push({ gateway: driverOf(filter.gateway).gateway });
      const page = await findPage({ em, entity: CallbackSchema, prefix: 'cb', where }, request);
      return { ...page, items: await traceCallbacks(db.pool, page.items) };
    },

    /** With its latest provider calls, oldest first. @throws HubError `callback_unknown` */
    async get(callbackId: string): Promise<{ callback: TracedCallback; verifications: Verification[] }> {
      const em = db.em();
      const callback = await findById(em, CallbackSchema, 'cb', callbackId);
      const latest = { orderBy: { id: 'desc' }, limit: MAX_VERIFICATIONS } as const;
      const verifications = await em.find(VerificationSchema, { callback: callback.id }, latest);
      return { callback: await trace(callback), verifications: verifications.toReversed() };
    },
  };
}
