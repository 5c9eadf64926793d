// Looks up the slot of payment resources, for tokens that are limited to a slot.
import type { Pool } from 'pg';
import { createOwnerLookup } from '../../access/owner-lookup.ts';
import { isResourceName } from '../../resource-name.ts';

/** Callbacks without a session and fee rules for any slot have no owner. */
export function createFindSlot(pool: Pool) {
  const { find, byId } = createOwnerLookup(pool, 'slot.name');
  return {
    slot: (name: string) => find('slot where slot.name', isResourceName(name) ? name : undefined),
    chargeSession: byId('chs', 'slot join charge_session s on s.slot_id = slot.id where s.id'),
    callback: byId(
      'cb',
      'slot join charge_session s on s.slot_id = slot.id join callback c on c.session_id = s.id where c.id',
    ),
    duplicatePayment: byId('dup', 'slot join duplicate_payment d on d.slot_id = slot.id where d.id'),
    refund: byId('rfd', 'slot join refund r on r.slot_id = slot.id where r.id'),
    feeRule: byId('fee', 'slot join fee_rule f on f.slot_id = slot.id where f.id'),
  };
}
