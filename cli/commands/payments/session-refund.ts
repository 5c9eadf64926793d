// hubctl session refund: pays back a payment, in part or in full.
import type { Command } from 'commander';
import { CHARGE_STATUSES } from '../../../lib/presentation/enum-names.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { NO_DEADLINE, requireField } from '../../connect/calls.ts';
import { CliError, EXIT } from '../../errors/failure.ts';
import { parseMoneyOption } from '../../parse/amount-option.ts';
import { parseText } from '../../parse/parse-number.ts';
import { yesOption } from '../../parse/shared-options.ts';
import { REFUND, REFUND_FIELDS, refundView } from '../../views/payments/refund.ts';

type RefundOptions = {
  readonly amount?: string;
  readonly reason: string;
  readonly idempotencyKey?: string;
  readonly yes?: true;
};

export function addRefundVerb(session: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(session, 'refund', {
    summary: 'refund the payment of a session',
    description:
      'Has the provider refund the payment of a session, in part or in full. A full refund also takes back the licenses that the session sold, by the policy of its offer. Asks for confirmation; without a terminal it requires --yes. Exits 1 if the provider refuses.',
    notes: [
      'If the provider does not answer, the refund is pending, and the hub asks the provider again: see `refund show`.',
      'Give --idempotency-key in scripts. A repeat with the same key returns the first refund. A repeat without a key makes another refund.',
    ],
    examples: [
      'hubctl session refund chs_01k8e7qk3vf2tb5s0w9m4x6ydz --amount 10.00 --reason "one of two returned" --yes',
    ],
    prints: { document: REFUND },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .option('--amount <decimal>', 'amount to refund: 10.00 (default: the rest of the payment)')
    .requiredOption('--reason <text>', 'reason, for the records of the hub and of the provider', parseText)
    .option('--idempotency-key <key>', 'a repeat with the same key returns the refund of the first call')
    .addOption(yesOption())
    .action(async (sessionId: string, { amount, reason, idempotencyKey, yes }: RefundOptions) => {
      const { session: found } = await hub.payments.getChargeSession({ sessionId });
      const { amount: paid, refunded, purchase, status } = requireField(found, 'session');
      const { minorUnits, currency } = requireField(paid, 'amount');
      const money = amount === undefined ? undefined : parseMoneyOption(amount, currency);
      if (status === CHARGE_STATUSES.success) {
        const left = minorUnits - (refunded?.minorUnits ?? 0n);
        const isFull = (money?.minorUnits ?? left) >= left;
        const takesBack = isFull && purchase ? ', and take back what it sold' : '';
        const text = `${formatDecimal(money?.minorUnits ?? left, currency)} ${currency}`;
        await requireYes({
          yes,
          verb: 'refund',
          question: () =>
            `Refund ${text} of ${formatDecimal(minorUnits, currency)} ${currency} to the customer${takesBack}?`,
          otherwise: 'Nothing was refunded.',
        });
      }
      const request = { sessionId, reason, amount: money, idempotencyKey };
      const { refund } = await hub.refunds.createRefund(request, NO_DEADLINE);
      const view = refundView(refund);
      await out.record(view, REFUND_FIELDS);
      if (view.state === 'pending') out.note('The refund is pending: the hub asks the provider again.');
      if (view.state === 'failed') {
        throw new CliError('refund_failed', EXIT.failed, `The refund failed: ${view.stateReason}.`);
      }
    });
}
