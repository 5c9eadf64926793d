// Sums up the usage log by day and currency: payments, fees, reversals and refunds.
//
// Each entry counts on its own day, so a reversal or a refund never changes the sums of an earlier day.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { UsageDaySchema } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { Database } from '../../storage/database.ts';
import { type Period, sumPeriod } from './query-sums.ts';

type UsageDay = MessageInitShape<typeof UsageDaySchema>;

/** @throws HubError `period_invalid`, `slot_unknown` */
export function summarizeUsage(db: Database, slot: string | undefined, period: Period): Promise<UsageDay[]> {
  return sumPeriod(db, SQL, slot, period);
}

// usage_log_settled_idx, or usage_log_slot_idx for one slot.
const SQL = `
  select to_char(u.settled_at at time zone 'UTC', 'YYYY-MM-DD') as day,
         u.currency,
         count(*) filter (where u.kind in ('payment', 'later_payment')) as payments,
         coalesce(sum(u.amount_minor) filter (where u.kind in ('payment', 'later_payment')), 0) as
           "paidMinorUnits",
         sum(u.fee_total_minor) as "feeMinorUnits",
         count(*) filter (where u.kind = 'reversal') as "reversedPayments",
         -coalesce(sum(u.amount_minor) filter (where u.kind = 'reversal'), 0) as "reversedMinorUnits",
         count(*) filter (where u.kind = 'refund') as refunds,
         -coalesce(sum(u.amount_minor) filter (where u.kind = 'refund'), 0) as "refundedMinorUnits",
         sum(u.amount_minor) as "netMinorUnits"
  from usage_log u
  where u.settled_at >= $1 and u.settled_at < $2
    and ($3::uuid is null or u.slot_id = $3)
  group by 1, 2
  order by 1, 2`;
