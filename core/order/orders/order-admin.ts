// Lists orders, and retries blocked ones.
import type { ListOrdersRequest } from '../../../gen/hub/order/v1/order_service_pb.ts';
import type { Actor } from '../../access/caller.ts';
import type { Scope } from '../../access/entities.ts';
import { recordChanges } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { recordEvents } from '../../event/outbox.ts';
import { parseId } from '../../ids.ts';
import { findApp } from '../../license/admin/find-app.ts';
import type { Fulfill } from '../../payment/order-interface.ts';
import { lockSession } from '../../payment/sessions/read-sessions.ts';
import { findSlot } from '../../payment/slots/slot-admin.ts';
import type { Database } from '../../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { OrderStateName } from '../entities.ts';
import { findOffer } from '../offers/find-offer.ts';
import { lockOrders } from '../refunds/refunded-orders.ts';
import { findOrder, readOrders, type StoredOrder } from './read-orders.ts';

export type OrdersOptions = { readonly db: Database; readonly fulfill: Fulfill; readonly clock: Clock };

export type OrderFilter = Pick<ListOrdersRequest, 'app' | 'offer' | 'slot' | 'customerId' | 'licenseId'> & {
  readonly state: OrderStateName | undefined;
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
  /** The apps and slots that the caller's token is limited to; undefined if it is not limited. */
  readonly scope: Scope | undefined;
};

export type Orders = ReturnType<typeof createOrders>;

export function createOrders({ db, fulfill, clock }: OrdersOptions) {
  const { pool } = db;
  return {
    /** @param order `ord_…` or `chs_…`. @throws HubError `order_unknown` */
    get: (order: string): Promise<StoredOrder> => findOrder(pool, order),

    /** Newest first. @throws HubError `app_unknown`, `offer_unknown`, `slot_unknown`, `page_token_invalid` */
    async list(filter: OrderFilter, request: PageRequest): Promise<Page<StoredOrder>> {
      const em = db.em();
      const app = filter.app === undefined ? undefined : await findApp(em, filter.app);
      const offer = filter.offer === undefined ? undefined : await findOffer(em, filter.offer);
      const slot = filter.slot === undefined ? undefined : await findSlot(em, filter.slot);
      const { scope } = filter;
      return readPage(request, 'ord', (after, limit) => {
        const values: unknown[] = [];
        const conditions: string[] = [];
        const add = (value: unknown, condition: (parameter: string) => string): void => {
          if (value === undefined) return;
          values.push(value);
          conditions.push(condition(`$${values.length}`));
        };
        add(after, (id) => `o.id < ${id}`);
        add(app?.id, (id) => `o.app_id = ${id}`);
        add(offer?.id, (id) => `o.offer_id = ${id}`);
        add(slot?.id, (id) => `o.slot_id = ${id}`);
        add(idOf('cus', filter.customerId), (id) => `o.customer_id = ${id}`);
        add(
          idOf('lic', filter.licenseId),
          (id) => `o.id in (select order_id from order_license where license_id = ${id})`,
        );
        add(filter.state, (state) => `o.state = ${state}`);
        add(filter.createdFrom, (at) => `o.created_at >= ${at}`);
        add(filter.createdTo, (at) => `o.created_at < ${at}`);
        add(scope?.apps, (slugs) => `a.slug = any(${slugs})`);
        add(scope?.slots, (names) => `s.name = any(${names})`);
        const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
        return readOrders(pool, { selection: `${where} order by o.id desc limit ${limit}`, values });
      });
    },

    /** Tries to fulfill a blocked order. @throws HubError `order_unknown`, `order_refunded` */
    async retry(order: string, actor: Actor): Promise<StoredOrder> {
      const { sessionId } = await findOrder(pool, order);
      await inTransaction(pool, async (client, send) => {
        const session = await lockSession(client, sessionId);
        if (session === undefined) throw new Error(`charge session ${sessionId} is gone`);
        // Read under the lock of the session, which a refund takes first.
        const [current] = await lockOrders(client, [sessionId]);
        if (current?.state === 'refunded') throw orderRefunded();
        // The money of a reversed payment is back with the customer.
        if (session.status !== 'success') return;
        const at = clock();
        const { events, changes } = await fulfill(client, send, [session], { at, actor, isAlone: true });
        send(recordEvents(at, events));
        send(recordChanges(actor, at, changes));
      });
      return findOrder(pool, order);
    },
  };
}

function orderRefunded(): HubError {
  const message = 'the payment of this order was refunded, so the hub does not fulfill it';
  return new HubError('order_refunded', message, { field: 'order' });
}

/** Null, which fits nothing, for a text that is no id. */
function idOf(prefix: 'cus' | 'lic', text: string | undefined): string | null | undefined {
  return text === undefined ? undefined : (parseId(prefix, text) ?? null);
}
