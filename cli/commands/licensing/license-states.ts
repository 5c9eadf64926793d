// hubctl license suspend, resume, revoke, reinstate, transfer.
import type { Command } from 'commander';
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import type { Output } from '../../output/output.ts';
import { parseCount } from '../../parse/parse-number.ts';
import { yesOption } from '../../parse/shared-options.ts';
import { LICENSE, LICENSE_FIELDS, licenseView } from '../../views/licensing/license.ts';
import { addMany, changeMany, isForMany, type ManyOptions, printsOneOrMany } from './change-many.ts';

const EXAMPLE_ID = 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function addSuspendVerb(license: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const suspend = addVerb(license, 'suspend', {
    summary: 'suspend licenses until they are resumed',
    description:
      'Suspends a license: activation and soft checks refuse it until `hubctl license resume`. Its seats stay. Asks for confirmation; without a terminal it requires --yes.',
    notes: [
      'Without a license, the filter chooses the licenses. The command goes on after one that cannot be suspended.',
    ],
    examples: [`hubctl license suspend ${EXAMPLE_ID} --reason "unpaid, invoice 1183" --yes`],
    prints: { document: printsOneOrMany(LICENSE) },
  })
    .argument('[licenseId]', 'the license, lic_…')
    .requiredOption('--reason <text>', 'reason, kept in the audit log');
  addMany(suspend).action(
    async (licenseId: string | undefined, options: ManyOptions & { reason: string }) => {
      const { reason } = options;
      if (isForMany(licenseId, options) || licenseId === undefined) {
        return changeMany(commandContext, options, {
          verb: 'suspend',
          done: 'suspended',
          change: (id) => hub.admin.suspendLicense({ licenseId: id, reason }),
        });
      }
      await confirmStop(commandContext, licenseId, { yes: options.yes, verb: 'suspend', done: 'suspended' });
      await printLicense(out, await hub.admin.suspendLicense({ licenseId, reason }));
    },
  );
}

export function addResumeVerb(license: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const resume = addVerb(license, 'resume', {
    summary: 'end the suspension of licenses',
    description: 'Ends a suspension: the license is valid again and keeps its seats.',
    notes: ['Without a license, the filter chooses the licenses, and the command asks for confirmation.'],
    examples: [
      `hubctl license resume ${EXAMPLE_ID}`,
      'hubctl license resume --app photo-lab --state suspended --yes',
    ],
    prints: { document: printsOneOrMany(LICENSE) },
  }).argument('[licenseId]', 'the license, lic_…');
  addMany(resume).action(async (licenseId: string | undefined, options: ManyOptions) => {
    if (isForMany(licenseId, options) || licenseId === undefined) {
      return changeMany(commandContext, options, {
        verb: 'resume',
        done: 'resumed',
        change: (id) => hub.admin.resumeLicense({ licenseId: id }),
      });
    }
    await printLicense(out, await hub.admin.resumeLicense({ licenseId }));
  });
}

export function addTransferVerb(license: Command, { hub, out }: CommandContext): void {
  addVerb(license, 'transfer', {
    summary: 'give a license to another customer',
    description:
      'Gives a license to another customer. Its key and seats stay; signed licenses name the new customer from the next activation on.',
    examples: [`hubctl license transfer ${EXAMPLE_ID} --customer-id cus_01k8e7qk3vf2tb5s0w9m4x6ydz`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .requiredOption('--customer-id <customerId>', 'the new customer, cus_…')
    .option(
      '--expected-version <n>',
      'refuse the change if the license has another terms version',
      parseCount,
    )
    .action(async (licenseId: string, options: { customerId: string; expectedVersion?: number }) => {
      const { customerId, expectedVersion } = options;
      const version = expectedVersion !== undefined && { expectedTermsVersion: expectedVersion };
      await printLicense(out, await hub.admin.transferLicense({ licenseId, customerId, ...version }));
    });
}

export function addRevokeVerb(license: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  addVerb(license, 'revoke', {
    summary: 'revoke a license',
    description:
      'Revokes a license: activation and soft checks refuse it from now on. Its seats stay listed. Asks for confirmation; without a terminal it requires --yes.',
    examples: [`hubctl license revoke ${EXAMPLE_ID} --reason "refunded, order 1183" --yes`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .requiredOption('--reason <text>', 'reason, kept in the audit log')
    .addOption(yesOption())
    .action(async (licenseId: string, { reason, yes }: { reason: string; yes?: true }) => {
      await confirmStop(commandContext, licenseId, { yes, verb: 'revoke', done: 'revoked' });
      await printLicense(out, await hub.admin.revokeLicense({ licenseId, reason }));
    });
}

export function addReinstateVerb(license: Command, { hub, out }: CommandContext): void {
  addVerb(license, 'reinstate', {
    summary: 'undo a revocation',
    description: 'Undoes a revocation: the license is valid again and keeps its seats.',
    examples: [`hubctl license reinstate ${EXAMPLE_ID}`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .action(async (licenseId: string) => {
      await printLicense(out, await hub.admin.reinstateLicense({ licenseId }));
    });
}

type Stop = { readonly yes: true | undefined; readonly verb: string; readonly done: string };

async function confirmStop(
  commandContext: CommandContext,
  licenseId: string,
  { yes, verb, done }: Stop,
): Promise<void> {
  const question = async () => {
    const before = licenseView((await commandContext.hub.admin.getLicense({ licenseId })).license);
    const owner = before.customer === undefined ? '' : ` of ${before.customer}`;
    const verbAtStart = verb.replace(/^./, (letter) => letter.toUpperCase());
    return `${verbAtStart} the ${before.state} ${before.app} license ${licenseId}${owner}, ${before.seatsUsed} seats in use?`;
  };
  await commandContext.requireYes({ yes, verb, question, otherwise: `Nothing was ${done}.` });
}

async function printLicense(
  out: Output,
  { license }: { readonly license?: License | undefined },
): Promise<void> {
  await out.record(licenseView(license), LICENSE_FIELDS);
}
