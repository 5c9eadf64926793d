// The metric of the difference between the fees by the rules of the hub and the fees that providers took.
import type { ClientBase } from 'pg';
import type { GaugeSpec } from '../../../lib/metrics/metrics.ts';

/** Reads only the newest entries of the usage log, to bound the cost. */
const ENTRIES = 2_000;
/** With fewer payments, differences of rounding count too much. */
const MIN_PAYMENTS = 20;

export const FEE_DRIFT: GaugeSpec = {
  name: 'hub_fee_drift_ratio',
  labelNames: ['slot'],
  help:
    'Difference between the fees by our rules and those that the provider took, ' +
    'as a share of the amounts; of the ' +
    `payments of the last day among the newest ${ENTRIES} entries, ` +
    `from ${MIN_PAYMENTS} payments of a slot on.`,
};

/** Differences in both directions add up. Payments that no rule charged do not count. */
export async function readFeeDrift(client: ClientBase, now: Date) {
  const { rows } = await client.query<{ slot: string; value: number }>({
    name: 'fee_drift',
    // usage_log_settled_idx
    text: `select s.name as slot, max(d.ratio)::float8 as value
           from (
             select u.slot_id, u.currency,
                    sum(abs(u.amount_minor - u.received_minor - u.fee_total_minor)) / sum(u.amount_minor)
                      as ratio
             from (
               select slot_id, currency, amount_minor, fee_total_minor, received_minor, received_currency
               from usage_log where settled_at > $1::timestamptz - interval '1 day'
               order by settled_at desc, id desc limit ${ENTRIES}) u
             where u.received_minor is not null and u.received_currency = u.currency and u.fee_total_minor > 0
             group by u.slot_id, u.currency having count(*) >= ${MIN_PAYMENTS}) d
           join slot s on s.id = d.slot_id
           group by s.name order by s.name`,
    values: [now],
  });
  return rows.map(({ slot, value }) => ({ labels: { slot }, value }));
}
