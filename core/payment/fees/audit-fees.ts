// Compares the fees by the rules of the hub with the fees that providers took, by day and rules.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { FeeDriftSchema } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { Database } from '../../storage/database.ts';
import { type Period, sumPeriod } from '../usage/query-sums.ts';

type FeeDrift = MessageInitShape<typeof FeeDriftSchema>;

/**
 * Leaves out payments without a received amount, and those that the provider converted to another currency.
 *
 * @throws HubError `period_invalid`, `slot_unknown`
 */
export function auditFees(db: Database, slot: string | undefined, period: Period): Promise<FeeDrift[]> {
  return sumPeriod(db, SQL, slot, period);
}

// usage_log_settled_idx, or usage_log_slot_idx for one slot; fee_line_pkey. Only payments have a received
// amount.
const SQL = `
  select to_char(u.settled_at at time zone 'UTC', 'YYYY-MM-DD') as day, u.currency, l.rules,
         count(*) as payments,
         sum(u.amount_minor) as "paidMinorUnits",
         sum(u.fee_total_minor) as "expectedMinorUnits",
         sum(u.amount_minor - u.received_minor) as "takenMinorUnits",
         count(*) filter (where u.amount_minor - u.received_minor <> u.fee_total_minor)
           as "differingPayments"
  from usage_log u
  cross join lateral (
    select array(select f.rule from fee_line f where f.usage_log_id = u.id order by f.rule) as rules) l
  where u.settled_at >= $1 and u.settled_at < $2
    and ($3::uuid is null or u.slot_id = $3)
    and u.received_minor is not null and u.received_currency = u.currency
  group by 1, 2, 3
  order by 1, 2, 3`;
