// hubctl profile: the limit profiles of an app.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { parseLimit } from '../../parse/parse-number.ts';
import { PROFILE, PROFILE_COLUMNS, PROFILE_FIELDS, profileView } from '../../views/licensing/profile.ts';

export function registerProfile(program: Command, { hub, out }: CommandContext): void {
  const profile = addNoun(
    program,
    'profile',
    'Named sets of limits that licenses of an app refer to. Clients without a license can read the profile named free.',
  );

  addVerb(profile, 'set', {
    summary: 'create a profile or replace its limits',
    description:
      'Creates a limit profile or replaces all its limits. Licenses that use it follow at the next check of each machine.',
    examples: ['hubctl profile set photo-lab pro projects=unlimited exports=1000'],
    prints: { document: PROFILE },
  })
    .argument('<app>', 'slug of the app')
    .argument('<profile>', 'name of the profile')
    .argument('<limit...>', 'name=value; the value is a whole number or unlimited', parseLimit)
    .action(async (app: string, name: string, limits: Record<string, bigint>) => {
      const { limitProfile } = await hub.admin.setLimitProfile({ app, name, limits });
      await out.record(profileView(limitProfile), PROFILE_FIELDS);
    });

  addVerb(profile, 'list', {
    summary: 'list the profiles of an app',
    description: 'Lists the limit profiles of an app by name.',
    examples: ['hubctl profile list photo-lab'],
    prints: { list: PROFILE },
  })
    .argument('<app>', 'slug of the app')
    .action(async (app: string) => {
      const { limitProfiles } = await hub.admin.listLimitProfiles({ app });
      await out.list([limitProfiles.map(profileView)], PROFILE_COLUMNS, {
        none: `The app ${app} has no limit profiles. Create one with \`hubctl profile set\`.`,
      });
    });
}
