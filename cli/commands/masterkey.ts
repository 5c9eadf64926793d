// hubctl masterkey: the key that everything secret in the database is sealed with.
import type { Command } from 'commander';
import { NO_DEADLINE } from '../call-options.ts';
import type { Context } from '../context.ts';

const HELP = `
To change the master key without stopping the hub's work:
  1. Write a new key on a line above the old one, in the key file of each hub:
     openssl rand -base64 32
  2. Restart the hubs, one after the other. They open with both keys, and seal
     with the first.
  3. hubctl masterkey rotate
  4. Take the old line out of the files, and restart once more. Keep the old key
     as long as you keep backups of the database from before.

Example:
  hubctl masterkey rotate`;

export function registerMasterkey(program: Command, { hub, out }: Context): void {
  const masterkey = program
    .command('masterkey')
    .summary('the key that secrets are sealed with')
    .description('The master keys, with which credentials and signing keys are sealed in the database.');

  masterkey
    .command('rotate')
    .summary('seal everything with the first master key')
    .description(
      'Seals everything that is sealed with another master key of the hub with the first one, while the hub serves. Safe to repeat.',
    )
    .addHelpText('after', HELP)
    .action(async () => {
      const { paymentAdmin } = await hub();
      const { resealed, masterKeyId } = await paymentAdmin.reencryptSecrets({}, NO_DEADLINE);
      await out.record({ masterKeyId, resealed }, [
        { title: 'Master key', cell: (item) => item.masterKeyId },
        { title: 'Secrets sealed again', cell: (item) => item.resealed },
      ]);
    });
}
