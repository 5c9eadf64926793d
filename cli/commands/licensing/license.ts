// hubctl license: issued licenses.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { LICENSE, LICENSE_FIELDS, licenseView } from '../../views/licensing/license.ts';
import { addKeyVerb, addRekeyVerb } from './license-key.ts';
import { addListVerb } from './license-list.ts';
import {
  addReinstateVerb,
  addResumeVerb,
  addRevokeVerb,
  addSuspendVerb,
  addTransferVerb,
} from './license-states.ts';
import { addRenewVerb, addUpdateVerb } from './license-terms.ts';

const EXAMPLE_ID = 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz';

export const registerLicense = nounOf('license', 'Issued licenses.', [
  addListVerb,
  addShowVerb,
  addKeyVerb,
  addRekeyVerb,
  addUpdateVerb,
  addRenewVerb,
  addSuspendVerb,
  addResumeVerb,
  addTransferVerb,
  addRevokeVerb,
  addReinstateVerb,
]);

function addShowVerb(license: Command, { hub, out }: CommandContext): void {
  addVerb(license, 'show', {
    summary: 'show a license',
    description: 'Shows a license with its limits in force and its seats.',
    examples: [`hubctl license show ${EXAMPLE_ID}`],
    prints: { document: LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .action(async (licenseId: string) => {
      const reply = await hub.admin.getLicense({ licenseId });
      await out.record(licenseView(reply.license), LICENSE_FIELDS);
    });
}
