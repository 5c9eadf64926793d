// hubctl masterkey: the key that encrypts all secrets in the database.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { NO_DEADLINE } from '../../connect/calls.ts';
import * as json from '../../views/schema.ts';

const ROTATION = json.view('MasterKeyRotation', 'hub.payment.v1.ReencryptSecretsResponse', {
  masterKeyId: json.text('id of the first master key'),
  resealed: json.integer(),
});

export function registerMasterkey(program: Command, { hub, out }: CommandContext): void {
  const masterkey = addNoun(
    program,
    'masterkey',
    'The master keys encrypt credentials and signing keys in the database.',
  );

  addVerb(masterkey, 'rotate', {
    summary: 'encrypt all secrets with the first master key',
    description:
      'Encrypts every secret again that uses another master key, while the hub serves. Safe to repeat.',
    notes: [
      'To change the master key without downtime:',
      '1. Add a new key as the last one to the key file of each hub, and restart the hubs one at a time. They decrypt with both keys and still encrypt with the old one. `openssl rand -base64 32` makes a key.',
      '2. Make the new key the first one of each file, and restart the hubs one at a time. They encrypt with the new key, which all of them can decrypt.',
      '3. Run `hubctl masterkey rotate`.',
      '4. Remove the old key from the files and restart the hubs again. Keep the old key as long as you keep older backups of the database.',
      'If the new key were the first one from the start, a restarted hub would encrypt with a key that the others do not have yet. A single hub need not restart in step 1.',
    ],
    examples: ['hubctl masterkey rotate'],
    prints: { document: ROTATION },
  }).action(async () => {
    const { resealed, masterKeyId } = await hub.paymentAdmin.reencryptSecrets({}, NO_DEADLINE);
    await out.record({ masterKeyId, resealed }, [
      { title: 'Master key', cell: (item) => item.masterKeyId },
      { title: 'Secrets re-encrypted', cell: (item) => item.resealed },
    ]);
    if (resealed === 0) {
      out.note('All secrets use this key. A hub reads a changed key file when it restarts.');
    }
  });
}
