// hubctl license key, rekey: shows the key of a license again, and replaces it.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { parseText } from '../../parse/parse-number.ts';
import { yesOption } from '../../parse/shared-options.ts';
import {
  ISSUED_FIELDS,
  ISSUED_LICENSE,
  issuedView,
  LICENSE_KEY,
  LICENSE_KEY_FIELDS,
  licenseView,
} from '../../views/licensing/license.ts';

const EXAMPLE_ID = 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function addKeyVerb(license: Command, { hub, out }: CommandContext): void {
  addVerb(license, 'key', {
    summary: 'show the key of a license again',
    description:
      'Shows the key of a license. The hub derives it again; the audit log records each request. The hub cannot show an imported key: replace it with `hubctl license rekey`.',
    examples: [`hubctl license key ${EXAMPLE_ID}`],
    prints: { document: LICENSE_KEY },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .action(async (licenseId: string) => {
      const { licenseKey } = await hub.admin.getLicenseKey({ licenseId });
      await out.record({ licenseId, licenseKey }, LICENSE_KEY_FIELDS);
    });
}

type RekeyOptions = { readonly yes?: true; readonly idempotencyKey?: string };

export function addRekeyVerb(license: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(license, 'rekey', {
    summary: 'replace the key of a license',
    description:
      'Replaces the key of a license and prints the new one. The old key stops at once, on every machine. Seats and signed licenses stay valid. Asks for confirmation; without a terminal it requires --yes.',
    examples: [`hubctl license rekey ${EXAMPLE_ID} --yes`],
    prints: { document: ISSUED_LICENSE },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .addOption(yesOption())
    .option(
      '--idempotency-key <key>',
      'value of your own: a repeated command with it prints the same key, while that is current',
      parseText,
    )
    .action(async (licenseId: string, { yes, idempotencyKey }: RekeyOptions) => {
      const question = async () => {
        const before = licenseView((await hub.admin.getLicense({ licenseId })).license);
        const owner = before.customer === undefined ? '' : ` of ${before.customer}`;
        return (
          `Replace the key of the ${before.state} ${before.app} license ${licenseId}${owner}? The key that ends ` +
          `with ${before.keyHint} stops at once; ${before.seatsUsed} seats in use stay.`
        );
      };
      await requireYes({ yes, verb: 'rekey', question, otherwise: 'The key was not replaced.' });
      const reply = await hub.admin.rekeyLicense({ licenseId, idempotencyKey });
      await out.record(issuedView(reply), ISSUED_FIELDS);
      if (reply.licenseKey === '') {
        out.note(`The key was replaced again since then. \`hubctl license key ${licenseId}\` shows it.`);
      }
    });
}
