// hubctl endpoint add, rotate-secret: what prints the secret of an endpoint.
import type { Command } from 'commander';
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { requireField } from '../../connect/require-field.ts';
import { PartialFailure } from '../../errors/failure.ts';
import { parseInteger } from '../../parse/parse-number.ts';
import { collect } from '../../parse/shared-options.ts';
import {
  ENDPOINT_WITH_SECRET,
  ENDPOINT_WITH_SECRET_FIELDS,
  endpointWithSecretView,
} from '../../views/events/endpoint.ts';

type AddOptions = {
  url: string;
  event: string[];
  app?: string[];
  slot?: string[];
  includeKeys?: true;
  description?: string;
};

const ABOUT_SECRET =
  'The secret signs deliveries. The hub shows it only once: store it where the receiver verifies them, for example in a secret variable of the shop. The receiver verifies with any Standard Webhooks library.';

export function addAddVerb(endpoint: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  addVerb(endpoint, 'add', {
    summary: 'add an endpoint',
    description:
      'Adds an endpoint and prints its secret. It receives the events of changes that are made from now on.',
    notes: [
      ABOUT_SECRET,
      'A URL must begin with https:// and lead to public addresses; the setting HUB_EVENT_ALLOW_NETWORKS of the hub can allow others. With --app or --slot, the endpoint receives only events of these apps and slots.',
    ],
    examples: [
      "hubctl endpoint add --url https://shop.example/hub --event 'license.*' --event seat.activated",
      "hubctl endpoint add --url https://shop.example/hub --event '*' --app photo-lab --include-keys --output json",
    ],
    prints: { document: ENDPOINT_WITH_SECRET },
  })
    .requiredOption('--url <url>', 'where to post events')
    .requiredOption(
      '--event <pattern>',
      "type of events, or a pattern: 'license.*', '*'; repeatable",
      collect,
    )
    .option('--app <app>', 'only events of this app; repeatable', collect)
    .option('--slot <slot>', 'only events of this slot; repeatable', collect)
    .option('--include-keys', 'put the license key into license.issued')
    .option('--description <text>', 'a note')
    .action(async ({ url, event, app, slot, includeKeys, description }: AddOptions) => {
      const { events } = await hub('events');
      const reply = await events.createEndpoint({
        settings: {
          url,
          events: event,
          apps: app ?? [],
          slots: slot ?? [],
          includeKeys: includeKeys === true,
          description: description ?? '',
        },
      });
      await printSecret(commandContext, reply);
    });
}

export function addRotateSecretVerb(endpoint: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  addVerb(endpoint, 'rotate-secret', {
    summary: 'replace the secret of an endpoint',
    description:
      'Replaces the secret of an endpoint and prints the new one. Deliveries are signed with both secrets for a while, so that the receiver can change at any time in between.',
    notes: [ABOUT_SECRET],
    examples: ['hubctl endpoint rotate-secret whe_01k8e7qk3vf2tb5s0w9m4x6ydz --keep-hours 48'],
    prints: { document: ENDPOINT_WITH_SECRET },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .option(
      '--keep-hours <n>',
      'hours to sign with the old secret too, at most 168; 0 if somebody else knows it (default: 24)',
      parseInteger,
    )
    .action(async (endpointId: string, { keepHours }: { keepHours?: number }) => {
      const { events } = await hub('events');
      const kept = keepHours !== undefined && { keepHours };
      await printSecret(commandContext, await events.rotateEndpointSecret({ endpointId, ...kept }));
    });
}

async function printSecret(
  { out }: CommandContext,
  reply: { readonly endpoint?: Endpoint | undefined; readonly secret: string },
): Promise<void> {
  const view = endpointWithSecretView(requireField(reply.endpoint, 'endpoint'), reply.secret);
  const { endpointId } = view;
  await out.record(view, ENDPOINT_WITH_SECRET_FIELDS).catch((error) => {
    const advice = `get another with \`hubctl endpoint rotate-secret ${endpointId} --keep-hours 0\``;
    throw new PartialFailure(`The secret of ${endpointId} could not be printed: ${advice}.`, error);
  });
  out.note(
    `This is the only time the secret is shown. Store it where the receiver verifies webhooks. Then run: hubctl endpoint test ${endpointId}`,
  );
}
