// Selects the endpoints that receive an event.
import type { ClientBase } from 'pg';
import { matches } from '../types.ts';

/** An enabled endpoint. */
export type Subscription = {
  readonly id: string;
  readonly patterns: readonly string[];
  readonly appIds: readonly string[];
  readonly slotIds: readonly string[];
};

export async function readSubscriptions(client: ClientBase): Promise<Subscription[]> {
  const { rows } = await client.query<Subscription>({
    name: 'read_subscriptions',
    text: `select id, event_types as patterns, app_ids as "appIds", slot_ids as "slotIds"
           from event_endpoint where disabled_at is null and removed_at is null`,
  });
  return rows;
}

type Matched = { readonly type: string; readonly appId: string | null; readonly slotId: string | null };

/**
 * Returns the endpoints that receive an event. An endpoint with apps or slots receives only events of their
 * objects, so none of customers.
 */
export function subscribers(subscriptions: readonly Subscription[], event: Matched): readonly Subscription[] {
  return subscriptions.filter(
    ({ patterns, appIds, slotIds }) =>
      ((appIds.length === 0 && slotIds.length === 0) ||
        (event.appId !== null && appIds.includes(event.appId)) ||
        (event.slotId !== null && slotIds.includes(event.slotId))) &&
      patterns.some((pattern) => matches(pattern, event.type)),
  );
}
