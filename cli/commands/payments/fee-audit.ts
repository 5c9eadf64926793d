// hubctl fee audit, and hubctl fee backtest --fit: compare the fees of the hub with those that providers took.

import type { Command } from 'commander';
import { DAY_MS } from '../../../lib/presentation/calendar.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { NO_DEADLINE } from '../../connect/calls.ts';
import { usageError } from '../../errors/failure.ts';
import type { FeeTermOptions } from '../../parse/parse-fee-terms.ts';
import { checkPeriod, parseBound, timestampOf } from '../../parse/parse-time.ts';
import {
  addFeeLine,
  FEE_DRIFT,
  FEE_DRIFT_COLUMNS,
  FEE_FIT_COLUMNS,
  feeDriftView,
  feeFitView,
} from '../../views/payments/fee-drift.ts';

/** Days of the period without `--from`. */
const DAYS = 30;
const NOTHING_RECEIVED = 'No provider reported the amount that you receive for a payment of that period.';

export function addAuditVerb(fee: Command, { hub, out }: CommandContext): void {
  addVerb(fee, 'audit', {
    summary: 'compare fees with those that providers took',
    description:
      "Compares the fees by your rules with the fees that providers took, by day (UTC), rules and currency. The provider's fee is the amount of a payment less the amount that the provider reports you receive. Counts payments with such a report in the currency of the payment, as gateway_one makes.",
    examples: [
      'hubctl fee audit --output json',
      'hubctl fee audit --slot main --from 2026-01-01 --to 2026-02-01',
    ],
    prints: { list: FEE_DRIFT },
  })
    .option('--slot <slot>', 'only payments of this slot')
    .option(
      '--from <when>',
      `payments settled from this day (UTC) or time on (default: ${DAYS} days before the end)`,
      parseBound,
    )
    .option(
      '--to <when>',
      'payments settled before this day (UTC) or time, 400 days later at most (default: now)',
      parseBound,
    )
    .action(async (given: { slot?: string; from?: Date; to?: Date }) => {
      const { slot, to = new Date() } = given;
      const { from = new Date(to.getTime() - DAYS * DAY_MS) } = given;
      checkPeriod(from, to);
      const { drifts } = await hub.paymentAdmin.auditFees(
        { slot, settledFrom: timestampOf(from), settledTo: timestampOf(to) },
        NO_DEADLINE,
      );
      await out.list([drifts.map(feeDriftView)], FEE_DRIFT_COLUMNS, { none: NOTHING_RECEIVED });
    });
}

/** @throws CliError (usage) if a rate is given: the fit finds the rate */
export async function fitFeeRule(
  { hub, out }: CommandContext,
  name: string,
  { from, to, gateway = '', slot = '', currency = '', ...rates }: FeeTermOptions & { from: Date; to: Date },
): Promise<void> {
  const [given] = Object.keys(rates);
  if (given !== undefined) {
    const option = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw usageError(`--${option}: Omit it: --fit finds the rate.`);
  }
  const { fits } = await hub.paymentAdmin.fitFeeRule(
    { rule: { name, gateway, slot, currency }, from: timestampOf(from), to: timestampOf(to) },
    NO_DEADLINE,
  );
  const views = fits.map(feeFitView);
  await out.list([views], FEE_FIT_COLUMNS);
  if (views.length === 0) out.note(NOTHING_RECEIVED);
  for (const view of views) {
    if (view.ambiguous) out.note(`Other rates fit the payments in ${view.currency} as well.`);
    out.note(`To add the rule: ${addFeeLine(view)}`);
  }
}
