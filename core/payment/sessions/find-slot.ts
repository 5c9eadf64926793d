// Reads the slot for a new charge session by its name.
import type { Pool } from 'pg';
import { HubError } from '../../errors.ts';
import type { Slot } from '../entities.ts';

export type SessionSlot = Pick<Slot, 'id' | 'gateway' | 'environment' | 'baseUrl' | 'returnOrigins'> & {
  readonly disabled: boolean;
};

/** @throws HubError `slot_unknown` */
export async function readSessionSlot(pool: Pool, name: string): Promise<SessionSlot> {
  const { rows } = await pool.query<SessionSlot>({
    name: 'slot_for_session',
    text: `select id, gateway, environment, base_url as "baseUrl", disabled_at is not null as disabled,
                  return_origins as "returnOrigins"
           from slot where name = $1`,
    values: [name],
  });
  const [slot] = rows;
  if (slot !== undefined) return slot;
  throw new HubError('slot_unknown', 'there is no slot with this name', { field: 'slot' });
}
