// To which slot the things of this room belong, for tokens that are limited to a slot.
import type { Pool } from 'pg';
import type { FindOwner } from '../access/scope.ts';
import { type IdPrefix, parseId } from '../ids.ts';
import { isName } from './name.ts';

/** A callback that was resolved to no session, and a fee rule for any slot, belong to none. */
export function createFindSlot(
  pool: Pool,
): Pick<FindOwner, 'slot' | 'chargeSession' | 'callback' | 'duplicatePayment' | 'feeRule'> {
  const ask = async (from: string, value: unknown): Promise<string | undefined> => {
    if (value === undefined) return undefined;
    const { rows } = await pool.query<{ name: string }>(`select slot.name from ${from} = $1`, [value]);
    return rows[0]?.name;
  };
  const byId = (prefix: IdPrefix, from: string) => (text: string) => ask(from, parseId(prefix, text));
  return {
    slot: (name) => ask('slot where slot.name', isName(name) ? name : undefined),
    chargeSession: byId('chs', 'slot join charge_session s on s.slot_id = slot.id where s.id'),
    callback: byId(
      'cb',
      'slot join charge_session s on s.slot_id = slot.id join callback c on c.session_id = s.id where c.id',
    ),
    duplicatePayment: byId('dup', 'slot join duplicate_payment d on d.slot_id = slot.id where d.id'),
    feeRule: byId('fee', 'slot join fee_rule f on f.slot_id = slot.id where f.id'),
  };
}
