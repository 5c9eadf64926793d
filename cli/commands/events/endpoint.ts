// hubctl endpoint: the URLs that the hub delivers events to.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { CliError, EXIT } from '../../errors/failure.ts';
import {
  DELIVERIES_TO_ENDPOINT_COLUMNS,
  DELIVERY,
  DELIVERY_FIELDS,
  deliveryView,
} from '../../views/events/delivery.ts';
import {
  ENDPOINT_COLUMNS,
  ENDPOINT_FIELDS,
  ENDPOINT_WITH_DELIVERIES,
  ENDPOINTS,
  endpointView,
} from '../../views/events/endpoint.ts';
import { addAddVerb, addRotateSecretVerb } from './endpoint-secrets.ts';
import { addDisableVerb, addEnableVerb, addRemoveVerb } from './endpoint-states.ts';
import { addUpdateVerb } from './endpoint-update.ts';

const EXAMPLE_ID = 'whe_01k8e7qk3vf2tb5s0w9m4x6ydz';
const SHOWN_DELIVERIES = 20;

export const registerEndpoint = nounOf(
  'endpoint',
  'URLs that the hub posts events to, signed as Standard Webhooks specifies. An endpoint receives the events of changes that are made after you add it.',
  [
    addAddVerb,
    addListVerb,
    addShowVerb,
    addUpdateVerb,
    addTestVerb,
    addRotateSecretVerb,
    addDisableVerb,
    addEnableVerb,
    addRemoveVerb,
  ],
);

function addListVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'list', {
    summary: 'list the endpoints',
    description: 'Lists all endpoints, newest first, and whether each is enabled, failing or disabled.',
    examples: ['hubctl endpoint list'],
    prints: { document: ENDPOINTS },
  }).action(async () => {
    const { endpoints } = await hub.events.listEndpoints({});
    await out.list([endpoints.map(endpointView)], ENDPOINT_COLUMNS, {
      within: { items: 'endpoints', count: 'count' },
      none: 'No endpoints yet. Add one with `hubctl endpoint add`.',
    });
  });
}

function addShowVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'show', {
    summary: 'show an endpoint and its last deliveries',
    description: `Shows the settings of an endpoint, without its secret, and the deliveries of its ${SHOWN_DELIVERIES} newest events.`,
    examples: [`hubctl endpoint show ${EXAMPLE_ID}`],
    prints: { document: ENDPOINT_WITH_DELIVERIES },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .action(async (endpointId: string) => {
      const [found, listed] = await Promise.all([
        hub.events.getEndpoint({ endpointId }),
        hub.events.listDeliveries({ endpointId, pageSize: SHOWN_DELIVERIES }),
      ]);
      const deliveries = listed.deliveries.map(deliveryView);
      const view = { ...endpointView(found.endpoint), deliveries };
      await out.record(view, ENDPOINT_FIELDS);
      await out.below(deliveries, DELIVERIES_TO_ENDPOINT_COLUMNS);
    });
}

function addTestVerb(endpoint: Command, { hub, out }: CommandContext): void {
  addVerb(endpoint, 'test', {
    summary: 'send a test event to an endpoint',
    description:
      'Sends an event of the type endpoint.test to an endpoint at once, also if it is disabled, and prints the answer. Exits 1 if it was not delivered.',
    examples: [`hubctl endpoint test ${EXAMPLE_ID}`],
    prints: { document: DELIVERY },
  })
    .argument('<endpointId>', 'the endpoint, whe_…')
    .action(async (endpointId: string) => {
      const { delivery } = await hub.events.testEndpoint({ endpointId });
      const view = deliveryView(delivery);
      await out.record(view, DELIVERY_FIELDS);
      if (view.state === 'delivered') return;
      const why = view.problem ?? `the endpoint answered with status ${view.responseStatus}`;
      throw new CliError('endpoint_test_failed', EXIT.failed, `The test was not delivered: ${why}.`);
    });
}
