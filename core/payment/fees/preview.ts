// Previews the fees of a payment as if it were settled now.
import type { Clock } from '../../clock.ts';
import type { Database } from '../../storage/database.ts';
import type { Money } from '../money.ts';
import { checkAmount } from '../sessions/charge-amount.ts';
import { findSlot } from '../slots/admin.ts';
import { computeFees, type Fees } from './rules.ts';

export type FeePreviewOptions = { readonly db: Database; readonly clock: Clock };

export function createFeePreview({ db, clock }: FeePreviewOptions) {
  /** @throws HubError `slot_unknown`, `amount_invalid` */
  return async (slotName: string, amount: Money): Promise<Fees> => {
    const { id: slotId, gateway } = await findSlot(db.em(), slotName);
    checkAmount(amount);
    return computeFees(db.pool, { gateway, slotId, amount, at: clock() });
  };
}
