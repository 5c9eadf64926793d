// hubctl fee: what payments cost.
import type { Command } from 'commander';
import { parseBound, timestampOf } from '../calendar.ts';
import { NO_DEADLINE } from '../call-options.ts';
import type { Context } from '../context.ts';
import { type FeeTermOptions, feeRuleOf } from '../fee-terms.ts';
import { parseInteger, parsePercent } from '../quantities.ts';
import { part } from '../reply.ts';
import { typedMoney } from '../typed-amount.ts';
import {
  FEE_BACKTEST_COLUMNS,
  FEE_RULE_COLUMNS,
  FEE_RULE_FIELDS,
  feeBacktestView,
  feeRuleView,
} from '../views/fee-rule.ts';
import { moneyText, moneyView } from '../views/money.ts';
import { FEE_LINE_COLUMNS, feeLineView } from '../views/usage.ts';

export function registerFee(program: Command, { hub, out }: Context): void {
  const fee = program
    .command('fee')
    .summary('fee rules')
    .description(
      'What payments cost. A rule has versions: a settled payment keeps the version it was charged by.',
    );

  withTerms(fee.command('add'))
    .summary('add a fee rule, or a new version of one')
    .description(
      'Adds a fee rule, or a new version of the one with the same name, gateway, slot and currency. Of the rules with one name, the most specific that matches a payment applies.',
    )
    .option('--from <when>', 'payments settled from this day (UTC) or time on; default: now', parseBound)
    .option('--to <when>', 'payments settled before this day (UTC) or time; default: without end', parseBound)
    .addHelpText(
      'after',
      '\nExamples:\n  hubctl fee add --name processing --percent 1.5\n  hubctl fee add --name processing --slot main --currency BDT --percent 1.2 --fixed 2.00 --max 50.00',
    )
    .action(async ({ from, to, ...terms }: FeeTermOptions & { from?: Date; to?: Date }) => {
      const rule = {
        ...feeRuleOf(terms),
        ...(from !== undefined && { validFrom: timestampOf(from) }),
        ...(to !== undefined && { validTo: timestampOf(to) }),
      };
      const { paymentAdmin } = await hub();
      const reply = await paymentAdmin.addFeeRule({ rule });
      await out.record(feeRuleView(part(reply.rule, 'fee rule')), FEE_RULE_FIELDS);
    });

  fee
    .command('list')
    .summary('list fee rules')
    .description('Lists the fee rules in force.')
    .option('--all', 'versions that have ended too')
    .addHelpText('after', '\nExample:\n  hubctl fee list --all')
    .action(async ({ all }: { all?: true }) => {
      const { paymentAdmin } = await hub();
      const { rules } = await paymentAdmin.listFeeRules({ includeEnded: all === true });
      const count = await out.list([rules.map(feeRuleView)], FEE_RULE_COLUMNS);
      if (count === 0) out.note('No fee rules. Add one with `hubctl fee add`.');
    });

  fee
    .command('retire')
    .summary('end a fee rule')
    .description('Ends a fee rule now. Settled payments keep their fees.')
    .argument('<feeRuleId>', 'the version in force, fee_…')
    .addHelpText('after', '\nExample:\n  hubctl fee retire fee_01k8e7v0c5eaxbgqm2tq1h9n3r')
    .action(async (feeRuleId: string) => {
      const { paymentAdmin } = await hub();
      const reply = await paymentAdmin.retireFeeRule({ feeRuleId });
      await out.record(feeRuleView(part(reply.rule, 'fee rule')), FEE_RULE_FIELDS);
    });

  fee
    .command('preview')
    .summary('say what a payment would cost')
    .description('Says what a payment would cost now, by rule and in all.')
    .requiredOption('--slot <name>', 'the slot it would go through')
    .requiredOption('--amount <decimal>', 'what would be paid: 100.00')
    .requiredOption('--currency <code>', 'ISO 4217 code: BDT')
    .addHelpText('after', '\nExample:\n  hubctl fee preview --slot main --amount 100.00 --currency BDT')
    .action(async ({ slot, amount, currency }: { slot: string; amount: string; currency: string }) => {
      const request = { slot, amount: typedMoney(amount, currency) };
      const { paymentAdmin } = await hub();
      const reply = await paymentAdmin.previewFees(request);
      const fees = reply.fees.map(feeLineView);
      const feeTotal = moneyView(reply.feeTotal);
      if (!out.json() && fees.length > 0) await out.list([fees], FEE_LINE_COLUMNS);
      await out.record({ fees, feeTotal }, [{ title: 'Fees in all', cell: () => moneyText(feeTotal) }]);
    });

  withTerms(fee.command('backtest'))
    .summary('say what a changed rule would have charged')
    .description(
      'Says what a rule would have charged over a past period, beside what the rule of its name did charge. Changes nothing.',
    )
    .requiredOption('--since <when>', 'payments settled from this day (UTC) or time on', parseBound)
    .requiredOption('--until <when>', 'payments settled before this day (UTC) or time', parseBound)
    .addHelpText(
      'after',
      '\nExample:\n  hubctl fee backtest --name processing --percent 1.8 --since 2026-01-01 --until 2026-02-01',
    )
    .action(async ({ since, until, ...terms }: FeeTermOptions & { since: Date; until: Date }) => {
      const rule = feeRuleOf(terms);
      const { paymentAdmin } = await hub();
      const { currencies } = await paymentAdmin.backtestFeeRule(
        { rule, from: timestampOf(since), to: timestampOf(until) },
        NO_DEADLINE,
      );
      const count = await out.list([currencies.map(feeBacktestView)], FEE_BACKTEST_COLUMNS);
      if (count === 0) out.note('No payment was settled then to which the rule would have applied.');
    });
}

/** The options that make up a rule. */
function withTerms(command: Command): Command {
  return command
    .requiredOption('--name <name>', 'name of the rule')
    .option('--gateway <name>', 'only payments of this gateway')
    .option('--slot <name>', 'only payments of this slot')
    .option('--currency <code>', 'only payments in this currency')
    .option('--percent <decimal>', 'percentage of the amount: 1.5', parsePercent)
    .option('--basis-points <n>', 'the same in hundredths of a percent: 150', parseInteger)
    .option('--fixed <decimal>', 'added to that; needs --currency')
    .option('--min <decimal>', 'the fee is at least this; needs --currency')
    .option('--max <decimal>', 'the fee is at most this; needs --currency');
}
