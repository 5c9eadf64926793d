// hubctl app: applications and their signing keys.
import type { Command } from 'commander';
import type { App } from '../../../gen/hub/license/v1/license_pb.ts';
import { counted } from '../../../lib/presentation/counted.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { usageError } from '../../errors/failure.ts';
import type { Output } from '../../output/output.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parseCountOrZero, parseSeats, parseText } from '../../parse/parse-number.ts';
import { parseLeaseDays } from '../../parse/parse-terms.ts';
import { maxOption, yesOption } from '../../parse/shared-options.ts';
import { APP, APP_COLUMNS, APP_FIELDS, appView, SIGNING_KEY_COLUMNS } from '../../views/licensing/app.ts';
import { DEMO_LICENSE, DEMO_LICENSE_FIELDS } from '../../views/operations/demo.ts';

export const registerApp = nounOf(
  'app',
  'Applications whose licenses the hub issues. Each has one active signing key; retired keys stay published until you withdraw them, so that older licenses still verify.',
  [addCreateVerb, addUpdateVerb, addListVerb, addShowVerb, addRotateKeyVerb, addWithdrawKeyVerb, addSeedVerb],
);

type DefaultTermOptions = {
  readonly leaseDays?: number;
  readonly graceDays?: number;
  readonly seats?: number;
};

function addCreateVerb(app: Command, { hub, out }: CommandContext): void {
  const create = addVerb(app, 'create', {
    summary: 'create an app',
    description:
      'Creates an app together with its first signing key. New licenses have a lease of 30 days, no grace and one seat, unless you say otherwise here or for a license.',
    examples: [
      'hubctl app create photo-lab --name "Photo Lab"',
      'hubctl app create build-farm --lease-days none --grace-days 14 --seats 5',
    ],
    prints: { document: APP },
  })
    .argument('<slug>', 'name in URLs and signed licenses: lower-case letters, digits, inner dashes')
    .option('--name <text>', 'display name (default: the slug)');
  addDefaultTerms(create).action(
    async (slug: string, { name, leaseDays = 30, ...terms }: { name?: string } & DefaultTermOptions) => {
      const { graceDays = 0, seats = 1 } = terms;
      const defaultTerms = { leaseDays, graceDays, seatLimit: seats };
      const reply = await hub.admin.createApp({ slug, name: name ?? '', defaultTerms });
      await printApp(out, reply.app);
      if (!out.json()) await out.text(`\n${aboutLease(slug, leaseDays)}\n`);
    },
  );
}

function addUpdateVerb(app: Command, { hub, out }: CommandContext): void {
  const update = addVerb(app, 'update', {
    summary: 'change the name or the default terms of an app',
    description:
      'Changes the name of an app, or the terms of its new licenses. Existing licenses keep their terms.',
    examples: ['hubctl app update photo-lab --lease-days 14 --grace-days 7 --seats 3'],
    prints: { document: APP },
  })
    .argument('<app>', 'slug of the app')
    .option('--name <text>', 'display name', parseText);
  addDefaultTerms(update).action(
    async (slug: string, { name, leaseDays, graceDays, seats }: { name?: string } & DefaultTermOptions) => {
      const terms = omitUndefined({ leaseDays, graceDays, seatLimit: seats });
      const paths = Object.keys(
        omitUndefined({
          name,
          'default_terms.lease_days': leaseDays,
          'default_terms.grace_days': graceDays,
          'default_terms.seat_limit': seats,
        }),
      );
      if (paths.length === 0) throw usageError('Give a value to change, such as --lease-days.');
      const request = { app: slug, updateMask: { paths }, ...omitUndefined({ name }), defaultTerms: terms };
      const reply = await hub.admin.updateApp(request);
      await printApp(out, reply.app);
    },
  );
}

function addDefaultTerms(command: Command): Command {
  return command
    .option(
      '--lease-days <n>',
      'new licenses: days that a signed license is valid without contacting the hub, or none',
      parseLeaseDays,
    )
    .option(
      '--grace-days <n>',
      'new licenses: days that they stay valid after their expiry',
      parseCountOrZero,
    )
    .option(
      '--seats <n>',
      'new licenses: machines that can be active at the same time, or unlimited',
      parseSeats,
    );
}

/** What the lease means for revocations, and how to change it. */
function aboutLease(slug: string, leaseDays: number): string {
  const change = `Change it with \`hubctl app update ${slug} --lease-days <n>\`, where none means no lease.`;
  return leaseDays === 0
    ? `New licenses have no lease: a revocation never reaches a machine that stays offline. ${change}`
    : `New licenses have a lease of ${counted(leaseDays, 'day')}, so that a revocation also reaches machines that stay offline. ${change}`;
}

function addListVerb(app: Command, { hub, out }: CommandContext): void {
  addVerb(app, 'list', {
    summary: 'list the apps',
    description: 'Lists the apps, newest first.',
    examples: ['hubctl app list --output json'],
    prints: { list: APP },
  })
    .addOption(maxOption())
    .action(async ({ max }: { max?: number }) => {
      const pages = readPages(hub.admin.listApps, {}, 'apps', appView);
      await out.list(pages(max), APP_COLUMNS, { none: 'No apps yet. Create one with `hubctl app create`.' });
    });
}

function addShowVerb(app: Command, { hub, out }: CommandContext): void {
  addVerb(app, 'show', {
    summary: 'show an app and its signing keys',
    description: 'Shows an app with all its signing keys. JSON includes the public keys in PEM.',
    examples: ['hubctl app show photo-lab'],
    prints: { document: APP },
  })
    .argument('<app>', 'slug of the app')
    .action(async (slug: string) => {
      await printApp(out, (await hub.admin.getApp({ app: slug })).app);
    });
}

function addRotateKeyVerb(app: Command, { hub, out }: CommandContext): void {
  addVerb(app, 'rotate-key', {
    summary: 'create a new signing key',
    description:
      'Creates a signing key and makes it active. The previous key is retired: it signs nothing more but stays published.',
    examples: ['hubctl app rotate-key photo-lab'],
    prints: { document: APP },
  })
    .argument('<app>', 'slug of the app')
    .action(async (slug: string) => {
      await printApp(out, (await hub.admin.rotateSigningKey({ app: slug })).app);
    });
}

function addWithdrawKeyVerb(app: Command, { hub, requireYes, out }: CommandContext): void {
  addVerb(app, 'withdraw-key', {
    summary: 'stop publishing a retired signing key',
    description:
      'Stops publishing a retired signing key. Licenses signed with it no longer verify against the published keys. This is permanent. Asks for confirmation; without a terminal it requires --yes.',
    examples: ['hubctl app withdraw-key photo-lab FbIsUCg6RPbn2Aql8e0cCPgCySLTdWRT3LF4cCB_z84 --yes'],
    prints: { document: APP },
  })
    .argument('<app>', 'slug of the app')
    .argument('<kid>', 'key id, as `hubctl app show` lists it')
    .addOption(yesOption())
    .action(async (slug: string, kid: string, { yes }: { yes?: true }) => {
      await requireYes({
        yes,
        verb: 'withdraw',
        question: () => `Withdraw the key ${kid} of ${slug}? This cannot be undone.`,
        otherwise: 'Nothing was withdrawn.',
      });
      await printApp(out, (await hub.admin.withdrawSigningKey({ app: slug, kid })).app);
    });
}

function addSeedVerb(app: Command, { hub, out }: CommandContext): void {
  addVerb(app, 'seed', {
    summary: 'create the app demo with a license to try',
    description:
      'Creates the app demo with the limit profiles free and pro, and issues a license with 3 seats. Keeps an existing app and profiles; each run issues another license.',
    examples: ['hubctl app seed'],
    prints: { document: DEMO_LICENSE },
  }).action(async () => {
    const { seedDemo } = await import('../../demo/seed-demo.ts');
    await out.record(await seedDemo(hub.admin), DEMO_LICENSE_FIELDS);
  });
}

async function printApp(out: Output, message: App | undefined): Promise<void> {
  const view = appView(message);
  await out.record(view, APP_FIELDS);
  await out.below(view.signingKeys, SIGNING_KEY_COLUMNS);
}
