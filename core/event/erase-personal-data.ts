// Removes the stored data of events that name a customer. The hub then shows the objects as they are now.
import type { ErasePersonalData } from '../customer/erase.ts';

export const eraseEvents: ErasePersonalData = async (client, { id, emails }) => {
  const { rowCount } = await client.query({
    name: 'erase_events',
    // event_customer_idx, charge_session_customer_email_idx, event_object_idx
    text: `update event set data = null, customer_id = null
           where customer_id = $1 or id in (
             select e.id from charge_session s join event e on e.object_id = s.id
             where lower(s.customer->>'email') = any($2))`,
    values: [id, emails],
  });
  return { events: rowCount ?? 0 };
};
