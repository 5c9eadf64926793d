// hubctl endpoint add, rotate-secret: the commands that print the secret of an endpoint.
import type { Command } from 'commander';
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { requireField } from '../../connect/calls.ts';
import { PartialFailure } from '../../errors/failure.ts';
import type { Output } from '../../output/output.ts';
import { parseCountOrZero } from '../../parse/parse-number.ts';
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
  'The secret signs deliveries. The hub shows it only once: store it where the receiver reads its secrets. Any Standard Webhooks library can verify the signatures.';

export function addAddVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'add', {
    summary: 'add an endpoint',
    description: 'Adds an endpoint and prints its secret. The endpoint receives the events of later changes.',
    notes: [
      ABOUT_SECRET,
      'A URL must begin with https:// and resolve to public addresses; the setting HUB_EVENT_ALLOW_NETWORKS of the hub allows other networks. With --app or --slot, the endpoint receives only events of these apps and slots.',
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
      const reply = await hub.events.createEndpoint({
        settings: {
          url,
          events: event,
          apps: app ?? [],
          slots: slot ?? [],
          includeKeys: includeKeys === true,
          description: description ?? '',
        },
      });
      await printSecret(out, reply);
    });
}

export function addRotateSecretVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'rotate-secret', {
    summary: 'replace the secret of an endpoint',
    description:
      'Replaces the secret of an endpoint and prints the new one. The hub signs deliveries with both secrets for --keep-hours, so that you can replace the secret of the receiver without a gap.',
    notes: [ABOUT_SECRET],
    examples: ['hubctl endpoint rotate-secret whe_01k8e7qk3vf2tb5s0w9m4x6ydz --keep-hours 48'],
    prints: { document: ENDPOINT_WITH_SECRET },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .option(
      '--keep-hours <n>',
      'hours to sign with the old secret too, at most 168; 0 if it has leaked (default: 24)',
      parseCountOrZero,
    )
    .action(async (endpointId: string, { keepHours }: { keepHours?: number }) => {
      const kept = keepHours !== undefined && { keepHours };
      await printSecret(out, await hub.events.rotateEndpointSecret({ endpointId, ...kept }));
    });
}

async function printSecret(
  out: Output,
  reply: { readonly endpoint?: Endpoint | undefined; readonly secret: string },
): Promise<void> {
  const view = endpointWithSecretView(requireField(reply.endpoint, 'endpoint'), reply.secret);
  const { endpointId } = view;
  await out.record(view, ENDPOINT_WITH_SECRET_FIELDS).catch((error) => {
    const advice = `replace it with \`hubctl endpoint rotate-secret ${endpointId} --keep-hours 0\``;
    throw new PartialFailure(`The secret of ${endpointId} could not be printed: ${advice}.`, error);
  });
  out.note(
    `This is the only time the secret is shown. Store it where the receiver reads its secrets. Then run: hubctl endpoint test ${endpointId}`,
  );
}
