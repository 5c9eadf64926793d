// hubctl license: issued licenses.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { pages } from '../../connect/pages.ts';
import { requireField } from '../../connect/require-field.ts';
import { list } from '../../output/json-schema.ts';
import { requireYes } from '../../parse/confirm.ts';
import { maxOption, yesOption } from '../../parse/shared-options.ts';
import {
  LICENSE,
  LICENSE_COLUMNS,
  LICENSE_FIELDS,
  LICENSE_STATES,
  licenseView,
} from '../../views/licensing/license.ts';

type ListOptions = {
  app?: string;
  state?: keyof typeof LICENSE_STATES;
  customer?: string;
  hint?: string;
  max?: number;
};

const EXAMPLE_ID = 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function registerLicense(program: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const license = addNoun(program, 'license', {
    group: 'Licenses:',
    summary: 'issued licenses',
    description: 'Issued licenses. The hub does not know their keys: it keeps a hash.',
  });

  addVerb(license, 'list', {
    summary: 'list licenses',
    description: 'Lists licenses, newest first. Filters combine with AND.',
    examples: ['hubctl license list --app photo-lab --state active --max 20'],
    prints: { document: list(LICENSE) },
  })
    .option('--app <app>', 'only of this app')
    .addOption(new Option('--state <state>', 'only in this state').choices(Object.keys(LICENSE_STATES)))
    .option('--customer <text>', 'only with exactly this customer')
    .option('--hint <symbols>', 'only with a key that ends with these five characters')
    .addOption(maxOption())
    .action(async ({ app, state, customer, hint, max }: ListOptions) => {
      const { admin } = await hub('admin');
      const wanted = {
        ...(app !== undefined && { app }),
        ...(state !== undefined && { state: LICENSE_STATES[state] }),
        ...(customer !== undefined && { customer }),
        ...(hint !== undefined && { keyHint: hint }),
      };
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { licenses, nextPageToken } = await admin.listLicenses({ ...wanted, ...page });
        return { items: licenses.map(licenseView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), LICENSE_COLUMNS);
      if (count === 0) out.note('No license matches.');
    });

  addVerb(license, 'show', {
    summary: 'show a license',
    description: 'Shows a license with its limits in force and its seats.',
    examples: [`hubctl license show ${EXAMPLE_ID}`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .action(async (licenseId: string) => {
      const { admin } = await hub('admin');
      const reply = await admin.getLicense({ licenseId });
      await out.record(licenseView(requireField(reply.license, 'license')), LICENSE_FIELDS);
    });

  addVerb(license, 'revoke', {
    summary: 'revoke a license',
    description:
      'Revokes a license: activation and status checks refuse it from now on. Its seats stay listed. Asks for confirmation; without a terminal it requires --yes.',
    examples: [`hubctl license revoke ${EXAMPLE_ID} --reason "refunded, order 1183" --yes`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .requiredOption('--reason <text>', 'reason, kept in the audit log')
    .addOption(yesOption())
    .action(async (licenseId: string, { reason, yes }: { reason: string; yes?: true }) => {
      const question = async () => {
        const { admin } = await hub('admin');
        const before = licenseView(requireField((await admin.getLicense({ licenseId })).license, 'license'));
        const owner = before.customer === undefined ? '' : ` of ${before.customer}`;
        return `Revoke the ${before.state} ${before.app} license ${licenseId}${owner}, ${before.seatsUsed} seats in use?`;
      };
      await requireYes(commandContext, { yes, verb: 'revoke', question, otherwise: 'Nothing was revoked.' });
      const { admin } = await hub('admin');
      const reply = await admin.revokeLicense({ licenseId, reason });
      await out.record(licenseView(requireField(reply.license, 'license')), LICENSE_FIELDS);
    });

  addVerb(license, 'reinstate', {
    summary: 'undo a revocation',
    description: 'Undoes a revocation: the license is valid again and keeps its seats.',
    examples: [`hubctl license reinstate ${EXAMPLE_ID}`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .action(async (licenseId: string) => {
      const { admin } = await hub('admin');
      const reply = await admin.reinstateLicense({ licenseId });
      await out.record(licenseView(requireField(reply.license, 'license')), LICENSE_FIELDS);
    });
}
