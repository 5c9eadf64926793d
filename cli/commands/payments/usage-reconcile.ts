// hubctl usage reconcile: the options of the comparison with a provider's statement.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { parsePair } from '../../parse/parse-number.ts';
import { addPeriod } from '../../parse/shared-options.ts';
import { RECONCILIATION } from '../../views/payments/reconciliation.ts';

export function addReconcileVerb(usage: Command, commandContext: CommandContext): void {
  const verb = addVerb(usage, 'reconcile', {
    summary: "compare the usage log with a provider's statement",
    description:
      "Compares the usage log with a provider's statement (CSV), by the provider's ids: payments, later payments, refunds, reversals and fees. Changes nothing. Exits 0 if the books agree and 5 if they do not.",
    notes: [
      'A profile says which field each column has: gateway_one, gateway_two, stripe, or a JSON file of your own. --map sets the field of a column. The fields are id, payment, reference, amount, currency, fee, net, netCurrency, kind, status and time.',
      'Without --from and --to the period is the days of the statement, in its zone. An entry that the statement does not have, within --tolerance of an end of the period, is listed as `atEdge`: the next or previous statement should have it.',
      'A statement has at most 2000000 lines.',
    ],
    examples: [
      'hubctl usage reconcile --statement january.csv --profile gateway_one --slot main',
      'hubctl usage reconcile --statement wallet.csv --profile ./wallet.json --from 2026-01-01 --to 2026-02-01 --fees rules',
      'hubctl usage reconcile --statement bank.csv --map "Trx ID=id" --map Amount=amount --map Date=time --currency BDT',
    ],
    prints: { document: RECONCILIATION },
  })
    .requiredOption('--statement <file>', 'the statement: CSV with commas, semicolons or tabs')
    .option('--profile <profile>', 'gateway_one, gateway_two, stripe, or a JSON file')
    .option('--slot <slot>', 'only entries of this slot');
  addPeriod(verb, 'entries and lines')
    .option('--map <column=field>', 'field of a column, or - to ignore the column; repeatable', parsePair)
    .option('--currency <code>', 'currency of lines without one: BDT')
    .option('--zone <offset>', 'offset of times without one: +06:00')
    .addOption(
      new Option('--tolerance <duration>', 'how far times may differ: 30m, 6h, 2d')
        .argParser(parseTolerance)
        .default(3_600_000, '1h'),
    )
    .addOption(
      new Option(
        '--fees <source>',
        "fees to compare with the statement: those that the provider reported with the payment, the hub's fee rules, or none",
      )
        .choices(['provider', 'rules', 'none'])
        .default('provider'),
    )
    .action(async (options) => {
      const { reconcile } = await import('../../reconcile/reconcile.ts'); // loads the CSV parser
      await reconcile(commandContext, options);
    });
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `30m`, `6h` or `2d` into milliseconds. */
function parseTolerance(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,4})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * (UNITS_MS[unit] ?? 0);
  throw new InvalidArgumentError('Give minutes, hours or days, such as 30m, 6h or 2d.');
}
