// hubctl limits: the limit profiles of an app.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { addLimit } from '../quantities.ts';
import { part } from '../reply.ts';
import { LIMIT_PROFILE_COLUMNS, LIMIT_PROFILE_FIELDS, limitProfileView } from '../views/limit-profile.ts';

export function registerLimits(program: Command, { hub, out }: Context): void {
  const limits = program
    .command('limits')
    .summary('limit profiles')
    .description(
      'Named sets of limits that licenses of an app refer to. The one named free is open to clients without a license.',
    );

  limits
    .command('set')
    .summary('create a profile or replace its limits')
    .description(
      'Creates a limit profile or replaces all its limits. Licenses that use it follow at their next check.',
    )
    .argument('<app>', 'slug of the app')
    .argument('<profile>', 'name of the profile')
    .argument('<limits...>', 'name=value; the value is a whole number or unlimited', addLimit)
    .addHelpText('after', '\nExample:\n  hubctl limits set photo-lab pro projects=unlimited exports=1000')
    .action(async (app: string, name: string, values: Record<string, bigint>) => {
      const { admin } = await hub();
      const { limitProfile } = await admin.setLimitProfile({ app, name, limits: values });
      await out.record(limitProfileView(part(limitProfile, 'limit profile')), LIMIT_PROFILE_FIELDS);
    });

  limits
    .command('list')
    .summary('list the profiles of an app')
    .description('Lists the limit profiles of an app by name.')
    .argument('<app>', 'slug of the app')
    .addHelpText('after', '\nExample:\n  hubctl limits list photo-lab')
    .action(async (app: string) => {
      const { admin } = await hub();
      const { limitProfiles } = await admin.listLimitProfiles({ app });
      const count = await out.list([limitProfiles.map(limitProfileView)], LIMIT_PROFILE_COLUMNS);
      if (count === 0)
        out.note(`The app ${app} has no limit profiles. Create one with \`hubctl limits set\`.`);
    });
}
