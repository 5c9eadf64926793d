// hubctl endpoint update: changes the given settings of an endpoint.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { requireField } from '../../connect/calls.ts';
import { usageError } from '../../errors/failure.ts';
import { collect } from '../../parse/shared-options.ts';
import { ENDPOINT, ENDPOINT_FIELDS, endpointView } from '../../views/events/endpoint.ts';

type UpdateOptions = {
  url?: string;
  event?: string[];
  app?: string[];
  slot?: string[];
  removeScope?: true;
  includeKeys?: boolean;
  description?: string;
};

export function addUpdateVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'update', {
    summary: 'change an endpoint',
    description:
      'Changes the given settings and keeps the others. They apply to the events of later changes. Pending deliveries go to the new URL.',
    examples: [
      "hubctl endpoint update whe_01k8e7qk3vf2tb5s0w9m4x6ydz --event 'license.*' --event 'seat.*'",
      'hubctl endpoint update whe_01k8e7qk3vf2tb5s0w9m4x6ydz --remove-scope',
    ],
    prints: { document: ENDPOINT },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .option('--url <url>', 'where to post events')
    .option(
      '--event <pattern>',
      'type of events, or a pattern; replaces all current ones; repeatable',
      collect,
    )
    .option('--app <app>', 'only events of this app; replaces all current apps; repeatable', collect)
    .option('--slot <slot>', 'only events of this slot; replaces all current slots; repeatable', collect)
    .option('--remove-scope', 'receive the events of all apps and slots')
    .option('--include-keys', 'put the license key into license.issued')
    .option('--no-include-keys', 'put the license key into no event')
    .option('--description <text>', 'a note; empty removes it')
    .action(async (endpointId: string, options: UpdateOptions) => {
      const changed = changedSettings(options);
      const reply = await hub.events.getEndpoint({ endpointId });
      const current = requireField(reply.endpoint, 'endpoint');
      const { url, events, apps, slots, includeKeys, description } = current;
      const settings = { url, events, apps, slots, includeKeys, description, ...changed };
      const { endpoint: found } = await hub.events.updateEndpoint({ endpointId, settings });
      await out.record(endpointView(found), ENDPOINT_FIELDS);
    });
}

/** @throws CliError (usage) if there are none, or they contradict each other */
function changedSettings(options: UpdateOptions) {
  const { url, event, app, slot, removeScope, includeKeys, description } = options;
  if (removeScope && (app ?? slot) !== undefined)
    throw usageError('--remove-scope and --app or --slot contradict each other: give one of them.');
  const changed = {
    ...(url !== undefined && { url }),
    ...(event && { events: event }),
    ...(removeScope && { apps: [], slots: [] }),
    ...(app && { apps: app }),
    ...(slot && { slots: slot }),
    ...(includeKeys !== undefined && { includeKeys }),
    ...(description !== undefined && { description }),
  };
  if (Object.keys(changed).length === 0)
    throw usageError('Give at least one setting to change, such as --event.');
  return changed;
}
