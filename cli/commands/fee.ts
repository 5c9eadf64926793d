// hubctl fee: what payments cost.
import type { Command } from 'commander';
import { parseBound, timestampOf } from '../calendar.ts';
import { NO_DEADLINE } from '../call-options.ts';
import { type FeeTermOptions, feeRuleOf } from '../fee-terms.ts';
import { addNoun, addVerb } from '../manual.ts';
import { parseInteger, parsePercent } from '../quantities.ts';
import { part } from '../reply.ts';
import { list } from '../shapes.ts';
import type { Tools } from '../tools.ts';
import { typedMoney } from '../typed-amount.ts';
import {
  FEE_BACKTEST,
  FEE_BACKTEST_COLUMNS,
  FEE_PREVIEW,
  FEE_RULE,
  FEE_RULE_COLUMNS,
  FEE_RULE_FIELDS,
  feeBacktestView,
  feeRuleView,
} from '../views/fee-rule.ts';
import { moneyText, moneyView } from '../views/money.ts';
import { FEE_LINE_COLUMNS, feeLineView } from '../views/usage.ts';

export function registerFee(program: Command, { hub, out }: Tools): void {
  const fee = addNoun(program, 'fee', {
    group: 'Payments:',
    summary: 'fee rules',
    description:
      'What payments cost. A rule has versions: a settled payment keeps the version it was charged by.',
  });

  const add = addVerb(fee, 'add', {
    summary: 'add a fee rule, or a new version of one',
    description:
      'Adds a fee rule, or a new version of the one with the same name, gateway, slot and currency. An open-ended version ends the one before it. A temporary one (--to) ends nothing: it applies while it is valid, and then the open-ended one applies again. Of the rules with one name, the most specific that matches a payment applies.',
    examples: [
      'hubctl fee add processing --percent 1.5',
      'hubctl fee add processing --percent 1.2 --from 2026-12-24 --to 2026-12-27',
      'hubctl fee add processing --slot main --currency BDT --percent 1.2 --fixed 2.00 --max-fee 50.00',
    ],
    prints: { document: FEE_RULE },
  });
  withTerms(add)
    .option('--from <when>', 'payments settled from this day (UTC) or time on; default: now', parseBound)
    .option('--to <when>', 'payments settled before this day (UTC) or time; default: without end', parseBound)
    .action(async (name: string, { from, to, ...terms }: FeeTermOptions & { from?: Date; to?: Date }) => {
      const rule = {
        ...feeRuleOf(name, terms),
        ...(from !== undefined && { validFrom: timestampOf(from) }),
        ...(to !== undefined && { validTo: timestampOf(to) }),
      };
      const { paymentAdmin } = await hub('paymentAdmin');
      const reply = await paymentAdmin.addFeeRule({ rule });
      await out.record(feeRuleView(part(reply.rule, 'fee rule')), FEE_RULE_FIELDS);
    });

  addVerb(fee, 'list', {
    summary: 'list fee rules',
    description:
      'Lists the fee rules that are valid, and those that will be. STATE says which are in force now; one that is overridden is valid, and another applies in its place.',
    examples: ['hubctl fee list --all', 'hubctl fee list --slot main'],
    prints: { document: list(FEE_RULE) },
  })
    .option('--all', 'versions that have ended too')
    .option('--slot <slot>', 'only those that payments of this slot may be charged by')
    .action(async ({ all, slot }: { all?: true; slot?: string }) => {
      const { paymentAdmin } = await hub('paymentAdmin');
      const { rules } = await paymentAdmin.listFeeRules({
        includeEnded: all === true,
        ...(slot !== undefined && { slot }),
      });
      const count = await out.list([rules.map(feeRuleView)], FEE_RULE_COLUMNS);
      if (count === 0) out.note('No fee rules. Add one with `hubctl fee add`.');
    });

  addVerb(fee, 'retire', {
    summary: 'end a fee rule',
    description: 'Ends a fee rule now. Settled payments keep their fees.',
    examples: ['hubctl fee retire fee_01k8e7v0c5eaxbgqm2tq1h9n3r'],
    prints: { document: FEE_RULE },
  })
    .argument('<feeRuleId>', 'the version to end, fee_…')
    .action(async (feeRuleId: string) => {
      const { paymentAdmin } = await hub('paymentAdmin');
      const reply = await paymentAdmin.retireFeeRule({ feeRuleId });
      await out.record(feeRuleView(part(reply.rule, 'fee rule')), FEE_RULE_FIELDS);
      if (reply.unchanged) out.note('Nothing changed: the rule had ended before.');
    });

  addVerb(fee, 'preview', {
    summary: 'say what a payment would cost',
    description: 'Says what a payment would cost now, by rule and in all.',
    examples: ['hubctl fee preview --slot main --amount 100.00 --currency BDT'],
    prints: { document: FEE_PREVIEW },
  })
    .requiredOption('--slot <slot>', 'the slot it would go through')
    .requiredOption('--amount <decimal>', 'what would be paid: 100.00')
    .requiredOption('--currency <code>', 'ISO 4217 code: BDT')
    .action(async ({ slot, amount, currency }: { slot: string; amount: string; currency: string }) => {
      const request = { slot, amount: typedMoney(amount, currency) };
      const { paymentAdmin } = await hub('paymentAdmin');
      const reply = await paymentAdmin.previewFees(request);
      const fees = reply.fees.map(feeLineView);
      const feeTotal = moneyView(reply.feeTotal);
      if (!out.json() && fees.length > 0) await out.list([fees], FEE_LINE_COLUMNS);
      await out.record({ fees, feeTotal }, [{ title: 'Fees in all', cell: () => moneyText(feeTotal) }]);
    });

  const backtest = addVerb(fee, 'backtest', {
    summary: 'say what a changed rule would have charged',
    description:
      'Says what a rule would have charged over a past period, beside what the rule of its name did charge. Payments that a more specific or a temporary rule of its name applied to are left out. Changes nothing.',
    examples: ['hubctl fee backtest processing --percent 1.8 --from 2026-01-01 --to 2026-02-01'],
    prints: { document: list(FEE_BACKTEST) },
  });
  withTerms(backtest)
    .requiredOption('--from <when>', 'payments settled from this day (UTC) or time on', parseBound)
    .requiredOption('--to <when>', 'payments settled before this day (UTC) or time', parseBound)
    .action(async (name: string, { from, to, ...terms }: FeeTermOptions & { from: Date; to: Date }) => {
      const rule = feeRuleOf(name, terms);
      const { paymentAdmin } = await hub('paymentAdmin');
      const { currencies, ruleIsNew } = await paymentAdmin.backtestFeeRule(
        { rule, from: timestampOf(from), to: timestampOf(to) },
        NO_DEADLINE,
      );
      const count = await out.list([currencies.map(feeBacktestView)], FEE_BACKTEST_COLUMNS);
      if (count === 0) out.note('No payment was settled then to which the rule would have applied.');
      if (ruleIsNew) out.note(`There is no rule called ${name}: it would be charged besides all others.`);
    });
}

/** What makes up a rule. */
function withTerms(command: Command): Command {
  return command
    .argument('<name>', 'name of the rule: lower-case letters, digits, inner dashes')
    .option('--gateway <gateway>', 'only payments of this gateway')
    .option('--slot <slot>', 'only payments of this slot')
    .option('--currency <code>', 'only payments in this currency')
    .option('--percent <decimal>', 'percentage of the amount: 1.5', parsePercent)
    .option('--basis-points <n>', 'the same in hundredths of a percent: 150', parseInteger)
    .option('--fixed <decimal>', 'added to that; needs --currency')
    .option('--min-fee <decimal>', 'the fee is at least this; needs --currency')
    .option('--max-fee <decimal>', 'the fee is at most this; needs --currency')
    .option('--slots-may-override', 'let tokens that are limited to a slot override the rule there');
}
