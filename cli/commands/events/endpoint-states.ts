// hubctl endpoint disable, enable, remove.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { requireField } from '../../connect/calls.ts';
import { canPrompt } from '../../parse/confirm.ts';
import { yesOption } from '../../parse/shared-options.ts';
import { ENDPOINT, ENDPOINT_FIELDS, endpointView, REMOVED_ENDPOINT } from '../../views/events/endpoint.ts';

const EXAMPLE_ID = 'whe_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function addDisableVerb(endpoint: Command, commandContext: CommandContext): void {
  const { streams, hub, out, requireYes } = commandContext;
  addVerb(endpoint, 'disable', {
    summary: 'stop all deliveries to an endpoint',
    description:
      'Stops all deliveries to an endpoint. The endpoint does not receive the events of changes that are made while it is disabled. Pending deliveries continue when you enable it. At a terminal it asks for confirmation.',
    examples: [`hubctl endpoint disable ${EXAMPLE_ID} --reason "the shop moves" --yes`],
    prints: { document: ENDPOINT },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .option('--reason <text>', 'reason, kept in the audit log', 'no reason given')
    .addOption(yesOption())
    .action(async (endpointId: string, { reason, yes }: { reason: string; yes?: true }) => {
      // Unlike a revocation it can be undone, and the missed events can be replayed: programs need no --yes.
      const isConfirmed = yes || !canPrompt(streams);
      const question = async () =>
        `Disable ${await nameOf(commandContext, endpointId)}? It misses events until you enable it.`;
      await requireYes({ yes: isConfirmed, verb: 'disable', question, otherwise: 'Nothing was disabled.' });
      const reply = await hub.events.disableEndpoint({ endpointId, reason });
      await out.record(endpointView(reply.endpoint), ENDPOINT_FIELDS);
    });
}

export function addEnableVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'enable', {
    summary: 'enable a disabled endpoint',
    description:
      'Enables an endpoint for the events of later changes, and continues its pending deliveries. `hubctl event replay` delivers a missed event.',
    examples: [`hubctl endpoint enable ${EXAMPLE_ID}`],
    prints: { document: ENDPOINT },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .action(async (endpointId: string) => {
      const reply = await hub.events.enableEndpoint({ endpointId });
      await out.record(endpointView(reply.endpoint), ENDPOINT_FIELDS);
    });
}

export function addRemoveVerb(endpoint: Command, commandContext: CommandContext): void {
  const { hub, out, requireYes } = commandContext;
  addVerb(endpoint, 'remove', {
    summary: 'remove an endpoint',
    description:
      'Removes an endpoint with its secret and its pending deliveries. This cannot be undone. Asks for confirmation; without a terminal it requires --yes.',
    examples: [`hubctl endpoint remove ${EXAMPLE_ID} --yes`],
    prints: { document: REMOVED_ENDPOINT },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .addOption(yesOption())
    .action(async (endpointId: string, { yes }: { yes?: true }) => {
      const question = async () =>
        `Remove ${await nameOf(commandContext, endpointId)}, with its pending deliveries? This cannot be undone.`;
      await requireYes({ yes, verb: 'remove', question, otherwise: 'Nothing was removed.' });
      await hub.events.removeEndpoint({ endpointId });
      await out.record({ endpointId }, [{ title: 'Removed', cell: (item) => item.endpointId }]);
    });
}

/** `the endpoint whe_… (https://shop.example/hub)` */
async function nameOf({ hub }: CommandContext, endpointId: string): Promise<string> {
  const { url } = requireField((await hub.events.getEndpoint({ endpointId })).endpoint, 'endpoint');
  return `the endpoint ${endpointId} (${url})`;
}
