// hubctl masterkey: the key that everything secret in the database is sealed with.
import type { Command } from 'commander';
import { NO_DEADLINE } from '../call-options.ts';
import { addNoun, addVerb } from '../manual.ts';
import { integer, object, text } from '../shapes.ts';
import type { Tools } from '../tools.ts';

const ROTATION = object(
  'MasterKeyRotation',
  { masterKeyId: text('id of the first master key'), resealed: integer() },
  { message: 'hub.payment.v1.ReencryptSecretsResponse' },
);

export function registerMasterkey(program: Command, { hub, out }: Tools): void {
  const masterkey = addNoun(program, 'masterkey', {
    group: 'Administration:',
    summary: 'the key that secrets are sealed with',
    description: 'The master keys, with which credentials and signing keys are sealed in the database.',
  });

  addVerb(masterkey, 'rotate', {
    summary: 'seal everything with the first master key',
    description:
      'Seals everything that is sealed with another master key of the hub with the first one, while the hub serves. Safe to repeat.',
    notes: [
      "To change the master key without stopping the hub's work:",
      '1. Add a new key as the second line of the key file of each hub, and restart the hubs, one after the other. They can open with both keys now, and still seal with the old one. `openssl rand -base64 32` makes a key.',
      '2. Move the new key to the first line of each file, and restart the hubs, one after the other. They seal with the new key, which all of them can open.',
      '3. Run `hubctl masterkey rotate`.',
      '4. Take the old line out of the files, and restart once more. Keep the old key as long as you keep backups of the database from before.',
      'With the new key on the first line from the start, a hub that is restarted would seal with a key that the others do not have yet. One hub alone may skip step 1.',
    ],
    examples: ['hubctl masterkey rotate'],
    prints: { document: ROTATION },
  }).action(async () => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { resealed, masterKeyId } = await paymentAdmin.reencryptSecrets({}, NO_DEADLINE);
    await out.record({ masterKeyId, resealed }, [
      { title: 'Master key', cell: (item) => item.masterKeyId },
      { title: 'Secrets sealed again', cell: (item) => item.resealed },
    ]);
    if (resealed === 0) {
      out.note('Everything is sealed with this key. A hub reads a changed key file when it is restarted.');
    }
  });
}
