// hubctl fee: fee rules.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { NO_DEADLINE } from '../../connect/calls.ts';
import { parseMoneyOption } from '../../parse/amount-option.ts';
import { type FeeTermOptions, parseFeeTerms } from '../../parse/parse-fee-terms.ts';
import { parseCountOrZero, parsePercent } from '../../parse/parse-number.ts';
import { parseBound, timestampOf } from '../../parse/parse-time.ts';
import { FEE_FIT } from '../../views/payments/fee-drift.ts';
import {
  FEE_BACKTEST,
  FEE_BACKTEST_COLUMNS,
  FEE_PREVIEW,
  FEE_RULE,
  FEE_RULE_COLUMNS,
  feeBacktestView,
  feeRuleView,
} from '../../views/payments/fee-rule.ts';
import { moneyText, moneyView } from '../../views/payments/money.ts';
import { FEE_LINE_COLUMNS, feeLineView } from '../../views/payments/usage.ts';
import * as json from '../../views/schema.ts';
import { addAuditVerb, fitFeeRule } from './fee-audit.ts';

export const registerFee = nounOf(
  'fee',
  'Fee rules for payments. A rule has versions: a settled payment keeps the version that charged it.',
  [addAddVerb, addListVerb, addRetireVerb, addPreviewVerb, addBacktestVerb, addAuditVerb],
);

function addAddVerb(fee: Command, { hub, out }: CommandContext): void {
  const add = addVerb(fee, 'add', {
    summary: 'add a fee rule or a new version',
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
        ...parseFeeTerms(name, terms),
        validFrom: from && timestampOf(from),
        validTo: to && timestampOf(to),
      };
      const reply = await hub.paymentAdmin.addFeeRule({ rule });
      await out.record(feeRuleView(reply.rule), FEE_RULE_COLUMNS);
    });
}

function addListVerb(fee: Command, { hub, out }: CommandContext): void {
  addVerb(fee, 'list', {
    summary: 'list fee rules',
    description:
      'Lists current and future fee rules. STATE says which are in force now; an overridden rule is valid, but another applies in its place.',
    examples: ['hubctl fee list --all', 'hubctl fee list --slot main'],
    prints: { list: FEE_RULE },
  })
    .option('--all', 'include versions that have ended')
    .option('--slot <slot>', 'only rules that can apply to payments of this slot')
    .action(async ({ all, slot }: { all?: true; slot?: string }) => {
      const { rules } = await hub.paymentAdmin.listFeeRules({ includeEnded: all === true, slot });
      await out.list([rules.map(feeRuleView)], FEE_RULE_COLUMNS, {
        none: 'No fee rules. Add one with `hubctl fee add`.',
      });
    });
}

function addRetireVerb(fee: Command, { hub, out }: CommandContext): void {
  addVerb(fee, 'retire', {
    summary: 'end a fee rule',
    description: 'Ends a fee rule now. Settled payments keep their fees.',
    examples: ['hubctl fee retire fee_01k8e7v0c5eaxbgqm2tq1h9n3r'],
    prints: { document: FEE_RULE },
  })
    .argument('<feeRuleId>', 'the version to end, fee_…')
    .action(async (feeRuleId: string) => {
      const reply = await hub.paymentAdmin.retireFeeRule({ feeRuleId });
      await out.record(feeRuleView(reply.rule), FEE_RULE_COLUMNS);
      if (reply.unchanged) out.note('Nothing changed: the rule had already ended.');
    });
}

function addPreviewVerb(fee: Command, { hub, out }: CommandContext): void {
  addVerb(fee, 'preview', {
    summary: 'calculate the fees of a payment',
    description: 'Calculates the fees of a payment now, per rule and in total.',
    examples: ['hubctl fee preview --slot main --amount 100.00 --currency BDT'],
    prints: { document: FEE_PREVIEW },
  })
    .requiredOption('--slot <slot>', 'slot of the payment')
    .requiredOption('--amount <decimal>', 'amount of the payment: 100.00')
    .requiredOption('--currency <code>', 'ISO 4217 code: BDT')
    .action(async ({ slot, amount, currency }: { slot: string; amount: string; currency: string }) => {
      const request = { slot, amount: parseMoneyOption(amount, currency) };
      const reply = await hub.paymentAdmin.previewFees(request);
      const fees = reply.fees.map(feeLineView);
      const feeTotal = moneyView(reply.feeTotal);
      if (!out.json() && fees.length > 0) await out.list([fees], FEE_LINE_COLUMNS);
      await out.record({ fees, feeTotal }, [{ title: 'Total fees', cell: () => moneyText(feeTotal) }]);
    });
}

function addBacktestVerb(fee: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const backtest = addVerb(fee, 'backtest', {
    summary: 'calculate the fees of a changed rule for past payments',
    description:
      'Calculates what a rule would have charged in a past period, next to what the rule with its name did charge. Excludes payments charged by a more specific or temporary rule of that name. Changes nothing. With --fit it proposes the rule that fits the fees that providers took.',
    examples: [
      'hubctl fee backtest processing --percent 1.8 --from 2026-01-01 --to 2026-02-01',
      'hubctl fee backtest processing --fit --gateway gateway_one --from 2026-01-01 --to 2026-02-01',
    ],
    prints: {
      document: json.either([json.list(FEE_BACKTEST), json.list(FEE_FIT)], 'with --fit the proposals'),
    },
  });
  withTerms(backtest)
    .requiredOption('--from <when>', 'payments settled from this day (UTC) or time on', parseBound)
    .requiredOption('--to <when>', 'payments settled before this day (UTC) or time', parseBound)
    .option('--fit', 'propose the rule that fits what providers took, instead of comparing one')
    .action(
      async (name: string, { fit, ...options }: FeeTermOptions & { from: Date; to: Date; fit?: true }) => {
        if (fit) return fitFeeRule(commandContext, name, options);
        const { from, to, ...terms } = options;
        const rule = parseFeeTerms(name, terms);
        const { currencies, ruleIsNew } = await hub.paymentAdmin.backtestFeeRule(
          { rule, from: timestampOf(from), to: timestampOf(to) },
          NO_DEADLINE,
        );
        await out.list([currencies.map(feeBacktestView)], FEE_BACKTEST_COLUMNS, {
          none: 'The rule would have applied to no payment of that period.',
        });
        if (ruleIsNew)
          out.note(`There is no rule named ${name}: it would be charged in addition to all others.`);
      },
    );
}

/** The options that define a rule. */
function withTerms(command: Command): Command {
  return command
    .argument('<name>', 'name of the rule: lower-case letters, digits, inner dashes')
    .option('--gateway <gateway>', 'only payments of this gateway')
    .option('--slot <slot>', 'only payments of this slot')
    .option('--currency <code>', 'only payments in this currency')
    .option('--percent <decimal>', 'percentage of the amount: 1.5', parsePercent)
    .option('--basis-points <n>', 'percentage in basis points (1/100 %): 150', parseCountOrZero)
    .option('--fixed <decimal>', 'fixed amount, added to the percentage; needs --currency')
    .option('--min-fee <decimal>', 'minimum fee; needs --currency')
    .option('--max-fee <decimal>', 'maximum fee; needs --currency')
    .option('--slots-may-override', 'let tokens limited to a slot override the rule for that slot');
}
