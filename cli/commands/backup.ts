// hubctl backup: everything a hub is, in one encrypted file, and back.
import type { Command } from 'commander';
import { addNoun, addVerb } from '../manual.ts';
import { readPassphrase } from '../passphrase.ts';
import { addSettings, readSettings } from '../settings.ts';
import type { Tools } from '../tools.ts';
import {
  BACKUP,
  BACKUP_FACTS,
  BACKUP_FACTS_FIELDS,
  BACKUP_FIELDS,
  RESTORED,
  RESTORED_FIELDS,
} from '../views/backup.ts';

type CreateOptions = { out?: string; force?: boolean; passphraseFile?: string };

export function registerBackup(program: Command, tools: Tools): void {
  const { streams, options, progress, interruption, out: output } = tools;
  const backup = addNoun(program, 'backup', {
    group: 'Administration:',
    summary: 'a hub in one encrypted file, and back',
    description:
      "A hub in one file: its data of one moment and its key ring, encrypted with a passphrase. Works on the database that serve would use with the same settings, on the hub's own machine.",
  });

  const create = addVerb(backup, 'create', {
    summary: 'back up a hub into one encrypted file',
    description:
      "Writes the hub's data of this moment and its key ring into one file, encrypted with a passphrase, whether a hub runs or not.",
    notes: [
      'The file is encrypted in the age format; `hubctl backup restore` and the age tool open it. Without the passphrase nobody does, you included.',
    ],
    examples: [
      'hubctl backup create',
      'hubctl backup create --out "hub-$(date +%F).age" --passphrase-file /etc/hub/passphrase',
    ],
    prints: { document: BACKUP },
  })
    .option('--out <file>', 'the file to write; by default a new one in this directory, named after the time')
    .option('--force', 'overwrite that file if it exists')
    .action(async (given: CreateOptions) => {
      const settings = readSettings(given, process.env);
      const { runBackup } = await import('../run-backup.ts');
      const report = await runBackup(settings, {
        dataDir: options().dataDir,
        out: given.out ?? `hub-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}.age`,
        force: given.force === true,
        passphrase: () => readPassphrase(streams, given.passphraseFile, { fresh: true }),
        progress,
        interruption,
      });
      await output.record(report, BACKUP_FIELDS);
    });

  const verify = addVerb(backup, 'verify', {
    summary: 'check a backup without restoring it',
    description:
      'Reads all of a backup, and finds out whether it is whole and unchanged. Nothing is written.',
    examples: ['hubctl backup verify hub.age'],
    prints: { document: BACKUP_FACTS },
  })
    .argument('<file>', 'the backup')
    .action(async (file: string, { passphraseFile }: { passphraseFile?: string }) => {
      const { runVerify } = await import('../run-restore.ts');
      const passphrase = () => readPassphrase(streams, passphraseFile, { fresh: false });
      const facts = await runVerify({ file, passphrase, progress, interruption });
      await output.record(facts, BACKUP_FACTS_FIELDS);
    });

  const restore = addVerb(backup, 'restore', {
    summary: 'restore a backup into an empty hub',
    description:
      'Puts the data of a backup into the database that serve would use with the same settings, and its key ring into the data directory. No hub may run on it, and it has to be empty; if anything is wrong with the file, it stays so.',
    examples: ['hubctl backup restore hub.age --data-dir ./new-hub'],
    prints: { document: RESTORED },
  })
    .argument('<file>', 'the backup')
    .action(async (file: string, given: { passphraseFile?: string }) => {
      const settings = readSettings(given, process.env);
      const { runRestore } = await import('../run-restore.ts');
      const report = await runRestore(settings, {
        file,
        dataDir: options().dataDir,
        passphrase: () => readPassphrase(streams, given.passphraseFile, { fresh: false }),
        progress,
        interruption,
      });
      await output.record(report, RESTORED_FIELDS);
      output.note(
        'Start the hub with `hubctl serve` and the same settings. The hub that the backup is of must not run any more.',
      );
    });

  for (const command of [create, verify, restore]) {
    command.option(
      '--passphrase-file <file>',
      'file of mode 0600 whose first line is the passphrase, or - for standard input; by default it is asked for',
    );
  }
  addSettings(create, [
    'databaseUrl',
    'databaseSchema',
    'databasePooler',
    'databaseDirectUrl',
    'masterKeyFile',
  ]);
  addSettings(restore, [
    'databaseUrl',
    'databaseSchema',
    'databasePooler',
    'databaseDirectUrl',
    'masterKeyFile',
    'auditHeadFile',
  ]);
}
