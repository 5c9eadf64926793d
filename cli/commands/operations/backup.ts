// hubctl backup: creates, verifies and restores encrypted backups.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { readPassphrase } from '../../parse/passphrase.ts';
import { addSettings, DATABASE_SETTINGS, readSettings } from '../../serve/settings.ts';
import {
  BACKUP,
  BACKUP_FACTS,
  BACKUP_FACTS_FIELDS,
  BACKUP_FIELDS,
  RESTORED,
  RESTORED_FIELDS,
} from '../../views/operations/backup.ts';

export const registerBackup = nounOf(
  'backup',
  "A consistent snapshot of the hub's data and its key ring in one file, encrypted with a passphrase. Run it on the hub's machine with the settings of serve.",
  [addCreateVerb, addVerifyVerb, addRestoreVerb],
);

function addCreateVerb(
  backup: Command,
  { streams, options, progress, interruption, out }: CommandContext,
): void {
  const create = addVerb(backup, 'create', {
    summary: 'create an encrypted backup',
    description:
      "Writes a consistent snapshot of the hub's data and its key ring to one file, encrypted with a passphrase. The hub can be running or stopped.",
    notes: [
      'The file is encrypted in the age format; `hubctl backup restore` and the age tool open it. Without the passphrase the backup cannot be opened.',
    ],
    examples: [
      'hubctl backup create',
      'hubctl backup create --out "hub-$(date +%F).age" --passphrase-file /etc/hub/passphrase',
    ],
    prints: { document: BACKUP },
  })
    .option('--out <file>', 'output file (default: a new file in this directory, named after the time)')
    .option('--force', 'overwrite an existing file')
    .action(async (given: { out?: string; force?: boolean; passphraseFile?: string }) => {
      const settings = readSettings(given, process.env);
      const { runBackup } = await import('../../backup/run-backup.ts');
      const report = await runBackup(settings, {
        dataDir: options().dataDir,
        out: given.out ?? `hub-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}.age`,
        force: given.force === true,
        passphrase: () => readPassphrase(streams, given.passphraseFile, { fresh: true }),
        progress,
        interruption,
      });
      await out.record(report, BACKUP_FIELDS);
    });
  addPassphraseFile(create);
  addSettings(create, [...DATABASE_SETTINGS, 'masterKeyFile']);
}

function addVerifyVerb(backup: Command, { streams, progress, interruption, out }: CommandContext): void {
  const verify = addVerb(backup, 'verify', {
    summary: 'check a backup without restoring it',
    description: 'Reads the whole backup and verifies that it is complete and unaltered. Writes nothing.',
    examples: ['hubctl backup verify hub.age'],
    prints: { document: BACKUP_FACTS },
  })
    .argument('<file>', 'the backup')
    .action(async (file: string, { passphraseFile }: { passphraseFile?: string }) => {
      const { runVerify } = await import('../../backup/run-restore.ts');
      const passphrase = () => readPassphrase(streams, passphraseFile, { fresh: false });
      const facts = await runVerify({ file, passphrase, progress, interruption });
      await out.record(facts, BACKUP_FACTS_FIELDS);
    });
  addPassphraseFile(verify);
}

function addRestoreVerb(
  backup: Command,
  { streams, options, progress, interruption, out }: CommandContext,
): void {
  const restore = addVerb(backup, 'restore', {
    summary: 'restore a backup into an empty hub',
    description:
      'Restores the data into the database that serve uses with the same settings, and the key ring into the data directory. The database must be empty and no hub may use it. If the file is damaged, the database stays empty.',
    examples: ['hubctl backup restore hub.age --data-dir ./new-hub'],
    prints: { document: RESTORED },
  })
    .argument('<file>', 'the backup')
    .action(async (file: string, given: { passphraseFile?: string }) => {
      const settings = readSettings(given, process.env);
      const { runRestore } = await import('../../backup/run-restore.ts');
      const report = await runRestore(settings, {
        file,
        dataDir: options().dataDir,
        passphrase: () => readPassphrase(streams, given.passphraseFile, { fresh: false }),
        progress,
        interruption,
      });
      await out.record(report, RESTORED_FIELDS);
      out.note(
        'Start the hub with `hubctl serve` and the settings of this command. The original hub must not run at the same time.',
      );
    });
  addPassphraseFile(restore);
  addSettings(restore, [...DATABASE_SETTINGS, 'masterKeyFile', 'auditHeadFile']);
}

function addPassphraseFile(command: Command): void {
  command.option(
    '--passphrase-file <file>',
    'file of mode 0600 with the passphrase in its first line, or - for standard input (default: prompt)',
  );
}
