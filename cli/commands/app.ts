// hubctl app: applications and their signing keys.
import type { Command } from 'commander';
import type { App } from '../../gen/hub/license/v1/license_pb.ts';
import { canAsk, confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../failure.ts';
import { pages } from '../pages.ts';
import { parseCount } from '../quantities.ts';
import { part } from '../reply.ts';
import { APP_COLUMNS, APP_FIELDS, appView, SIGNING_KEY_COLUMNS } from '../views/app.ts';

export function registerApp(program: Command, { hub, out, streams }: Context): void {
  const app = program
    .command('app')
    .summary('apps and their signing keys')
    .description(
      'Applications whose licenses the hub issues. Each has one active signing key; retired keys stay published until they are withdrawn, so that older licenses keep verifying.',
    );

  const print = async (message: App | undefined) => {
    const view = appView(part(message, 'app'));
    await out.record(view, APP_FIELDS);
    if (!out.json()) await out.list([view.signingKeys], SIGNING_KEY_COLUMNS);
  };

  app
    .command('create')
    .summary('create an app')
    .description('Creates an app together with its first signing key.')
    .argument('<slug>', 'name in URLs and signed licenses: lower-case letters, digits, inner dashes')
    .option('--name <text>', 'name for people (default: the slug)')
    .addHelpText('after', '\nExample:\n  hubctl app create photo-lab --name "Photo Lab"')
    .action(async (slug: string, { name }: { name?: string }) => {
      const { admin } = await hub();
      await print((await admin.createApp({ slug, name: name ?? '' })).app);
    });

  app
    .command('list')
    .summary('list the apps')
    .description('Lists the apps, newest first.')
    .option('--max <n>', 'at most so many (default: all)', parseCount)
    .addHelpText('after', '\nExample:\n  hubctl app list --output json')
    .action(async ({ max }: { max?: number }) => {
      const { admin } = await hub();
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { apps, nextPageToken } = await admin.listApps(page);
        return { items: apps.map(appView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), APP_COLUMNS);
      if (count === 0) out.note('No apps yet. Create one with `hubctl app create`.');
    });

  app
    .command('show')
    .summary('show an app and its signing keys')
    .description('Shows an app with all its signing keys; --output json includes their public halves in PEM.')
    .argument('<app>', 'slug of the app')
    .addHelpText('after', '\nExample:\n  hubctl app show photo-lab')
    .action(async (slug: string) => {
      const { admin } = await hub();
      await print((await admin.getApp({ app: slug })).app);
    });

  app
    .command('rotate-key')
    .summary('make a new signing key')
    .description(
      'Makes a new signing key the active one. The one before is retired: it signs no more, but stays published.',
    )
    .argument('<app>', 'slug of the app')
    .addHelpText('after', '\nExample:\n  hubctl app rotate-key photo-lab')
    .action(async (slug: string) => {
      const { admin } = await hub();
      await print((await admin.rotateSigningKey({ app: slug })).app);
    });

  app
    .command('withdraw-key')
    .summary('stop publishing a retired signing key')
    .description(
      'Stops publishing a retired signing key. Licenses signed with it no longer verify against the published keys, for good. Asks first; off a terminal it wants --yes.',
    )
    .argument('<app>', 'slug of the app')
    .argument('<kid>', 'key id, as `hubctl app show` lists it')
    .addHelpText(
      'after',
      '\nExample:\n  hubctl app withdraw-key photo-lab FbIsUCg6RPbn2Aql8e0cCPgCySLTdWRT3LF4cCB_z84 --yes',
    )
    .option('--yes', 'do not ask')
    .action(async (slug: string, kid: string, { yes }: { yes?: true }) => {
      if (!yes && !canAsk(streams)) {
        throw usageError('Nobody is there to be asked. Give --yes to withdraw without a question.');
      }
      const question = `Withdraw the key ${kid} of ${slug}? This cannot be taken back.`;
      if (!yes && !(await confirm(question, streams))) {
        throw new CliError('declined', EXIT.failed, 'Nothing was withdrawn.');
      }
      const { admin } = await hub();
      await print((await admin.withdrawSigningKey({ app: slug, kid })).app);
    });
}
