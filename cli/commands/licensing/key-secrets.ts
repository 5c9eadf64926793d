// hubctl key list-secrets, rotate-secret: the secrets that license keys are derived from.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { yesOption } from '../../parse/shared-options.ts';
import { KEY_SECRET, KEY_SECRET_COLUMNS, keySecretView } from '../../views/licensing/key-secret.ts';

export function addKeySecretVerbs(key: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(key, 'list-secrets', {
    summary: 'list the secrets of license keys',
    description:
      'Lists the secrets that license keys are derived from, newest first. New licenses use the active one. The secrets never leave the hub.',
    examples: ['hubctl key list-secrets'],
    prints: { list: KEY_SECRET },
  }).action(async () => {
    const { keySecrets } = await hub.admin.listKeySecrets({});
    await out.list([keySecrets.map(keySecretView)], KEY_SECRET_COLUMNS, {
      none: 'There is no secret yet. The hub creates one with the first license.',
    });
  });

  addVerb(key, 'rotate-secret', {
    summary: 'create a new secret of license keys',
    description:
      'Creates a secret for the keys of new licenses. Existing keys stay valid, and the previous secrets still derive them: to replace the key of a license, use `hubctl license rekey`. Asks for confirmation; without a terminal it requires --yes.',
    examples: ['hubctl key rotate-secret --yes'],
    prints: { document: KEY_SECRET },
  })
    .addOption(yesOption())
    .action(async ({ yes }: { yes?: true }) => {
      await requireYes({
        yes,
        verb: 'rotate',
        question: () => 'Create a new secret for the keys of new licenses? Existing keys stay valid.',
        otherwise: 'Nothing was rotated.',
      });
      const { keySecret } = await hub.admin.rotateKeySecret({});
      await out.record(keySecretView(keySecret), KEY_SECRET_COLUMNS);
    });
}
