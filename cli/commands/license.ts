// hubctl license: the licenses that were issued.
import { type Command, Option } from 'commander';
import { canAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../failure.ts';
import { pages } from '../pages.ts';
import { parseCount } from '../quantities.ts';
import { part } from '../reply.ts';
import { LICENSE_COLUMNS, LICENSE_FIELDS, LICENSE_STATES, licenseView } from '../views/license.ts';

type ListOptions = {
  app?: string;
  state?: keyof typeof LICENSE_STATES;
  customer?: string;
  hint?: string;
  max?: number;
};

export function registerLicense(program: Command, context: Context): void {
  const { hub, out } = context;
  const license = program
    .command('license')
    .summary('licenses')
    .description(
      'The licenses that were issued. Their keys are not among what the hub knows: it keeps a hash.',
    );

  license
    .command('list')
    .summary('list licenses')
    .description('Lists licenses, newest first; what is given has to match all at once.')
    .option('--app <slug>', 'only those of this app')
    .addOption(new Option('--state <state>', 'only those in this state').choices(Object.keys(LICENSE_STATES)))
    .option('--customer <text>', 'only those issued to exactly this customer')
    .option('--hint <symbols>', 'only those whose key ends with these five symbols')
    .option('--max <n>', 'at most so many (default: all)', parseCount)
    .addHelpText('after', '\nExample:\n  hubctl license list --app photo-lab --state active --max 20')
    .action(async ({ app, state, customer, hint, max }: ListOptions) => {
      const { admin } = await hub();
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

  license
    .command('show')
    .summary('show a license')
    .description('Shows a license with its limits in force and its seats.')
    .argument('<licenseId>', 'the license, lic_…')
    .addHelpText('after', '\nExample:\n  hubctl license show lic_01k8e7qk3vf2tb5s0w9m4x6ydz')
    .action(async (licenseId: string) => {
      const { admin } = await hub();
      const reply = await admin.getLicense({ licenseId });
      await out.record(licenseView(part(reply.license, 'license')), LICENSE_FIELDS);
    });

  license
    .command('revoke')
    .summary('revoke a license')
    .description(
      'Revokes a license: activation and status checks refuse it from now on. Its seats stay listed. Asks first; off a terminal it wants --yes.',
    )
    .argument('<licenseId>', 'the license, lic_…')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExample:\n  hubctl license revoke lic_01k8e7qk3vf2tb5s0w9m4x6ydz --reason "refunded, order 1183" --yes',
    )
    .action(async (licenseId: string, { reason, yes }: { reason: string; yes?: true }) => {
      if (!yes && !canAsk(context.streams)) {
        throw usageError('Nobody is there to be asked. Give --yes to revoke without a question.');
      }
      const { admin } = await hub();
      if (!yes) {
        const before = licenseView(part((await admin.getLicense({ licenseId })).license, 'license'));
        const owner = before.customer === undefined ? '' : ` of ${before.customer}`;
        const question = `Revoke the ${before.state} ${before.app} license ${licenseId}${owner}, ${before.seatsUsed} seats in use?`;
        if (!(await confirm(question, context.streams))) {
          throw new CliError('declined', EXIT.failed, 'Nothing was revoked.');
        }
      }
      const reply = await admin.revokeLicense({ licenseId, reason });
      await out.record(licenseView(part(reply.license, 'license')), LICENSE_FIELDS);
    });

  license
    .command('reinstate')
    .summary('take a revocation back')
    .description('Takes a revocation back: the license is good again, with the seats it had.')
    .argument('<licenseId>', 'the license, lic_…')
    .addHelpText('after', '\nExample:\n  hubctl license reinstate lic_01k8e7qk3vf2tb5s0w9m4x6ydz')
    .action(async (licenseId: string) => {
      const { admin } = await hub();
      const reply = await admin.reinstateLicense({ licenseId });
      await out.record(licenseView(part(reply.license, 'license')), LICENSE_FIELDS);
    });
}
