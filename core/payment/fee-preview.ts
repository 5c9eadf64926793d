// What a payment would cost if it were settled now.
import type { Clock } from '../clock.ts';
import type { Database } from '../storage/database.ts';
import { checkAmount } from './charge-amount.ts';
import { computeFees, type Fees } from './fee-rules.ts';
import type { Money } from './money.ts';
import { findSlot } from './slots.ts';

export type FeePreviewOptions = { readonly db: Database; readonly clock: Clock };

export function createFeePreview({ db, clock }: FeePreviewOptions) {
  /** @throws HubError `slot_unknown`, `amount_invalid` */
  return async (slotName: string, amount: Money): Promise<Fees> => {
    const { id: slotId, gateway } = await findSlot(db.em(), slotName);
    checkAmount(amount);
    return computeFees(db.pool, { gateway, slotId, amount, at: clock() });
  };
}
