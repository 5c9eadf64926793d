// hubctl event: the events of the hub and their deliveries.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { itemsOrExport } from '../../output/export-to-file.ts';
import { printableJson } from '../../output/printable.ts';
import { addFormat, type FormatOptions, printTableOrCsv } from '../../output/table-or-csv.ts';
import { collect } from '../../parse/shared-options.ts';
import {
  DELIVERIES_OF_EVENT_COLUMNS,
  DELIVERY,
  DELIVERY_FIELDS,
  deliveryView,
} from '../../views/events/delivery.ts';
import {
  EVENT_COLUMNS,
  EVENT_CSV,
  EVENT_FIELDS,
  EVENT_WITH_DELIVERIES,
  EVENTS,
  eventView,
  eventWithDataView,
} from '../../views/events/event.ts';
import { addListenVerb, addTailVerb } from './event-stream.ts';

type ListOptions = FormatOptions & { type?: string[]; object?: string; app?: string; slot?: string };

const EXAMPLE_ID = 'evt_01k8e7v0c5eaxbgqm2tq1h9n3r';

export const registerEvent = nounOf(
  'event',
  'Changes that the hub delivers to endpoints and streams to programs. The sequence numbers all events without gaps. Of two events of an object, the later one has the larger number.',
  [addListVerb, addShowVerb, addReplayVerb, addTailVerb, addListenVerb],
);

function addListVerb(event: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(event, 'list', {
    summary: 'list events',
    description: 'Lists events without their data, newest first. Filters combine with AND.',
    notes: ['CSV: RFC 4180 with a header.'],
    examples: [
      "hubctl event list --type 'license.*' --app photo-lab --max 20",
      'hubctl event list --object lic_01k8e7qk3vf2tb5s0w9m4x6ydz --output json',
    ],
    prints: { document: itemsOrExport(EVENTS, 'the events') },
  })
    .option('--type <pattern>', "only of this type, or of a pattern: 'license.*'; repeatable", collect)
    .option(
      '--object <id>',
      'only of this license, seat, session, refund, order, callback, customer or endpoint',
    )
    .option('--app <app>', 'only of this app')
    .option('--slot <slot>', 'only of this slot');
  addFormat(listing, 'the events').action(async (options: ListOptions) => {
    const { type = [], object, app, slot } = options;
    const wanted = { types: type, object, app, slot };
    const pages = readPages(hub.events.listEvents, wanted, 'events', eventView);
    const within = { items: 'events', count: 'count' };
    const printed = { pages, columns: EVENT_COLUMNS, csv: EVENT_CSV, none: 'No event matches.', within };
    await printTableOrCsv(commandContext, printed, options);
  });
}

function addShowVerb(event: Command, { hub, out }: CommandContext): void {
  addVerb(event, 'show', {
    summary: 'show an event with its data and its deliveries',
    description:
      'Shows an event, its data, and the delivery to each endpoint. The data is the object after the change, without a license key.',
    examples: [`hubctl event show ${EXAMPLE_ID}`],
    prints: { document: EVENT_WITH_DELIVERIES },
  })
    .argument('<eventId>', 'the event, evt_…')
    .action(async (eventId: string) => {
      const reply = await hub.events.getEvent({ eventId });
      const deliveries = reply.deliveries.map(deliveryView);
      const view = { ...eventWithDataView(reply.event), deliveries };
      await out.record(view, EVENT_FIELDS);
      if (view.data !== undefined && !out.json()) await out.text(`\n${printableJson(view.data, 2)}\n`);
      await out.below(deliveries, DELIVERIES_OF_EVENT_COLUMNS);
    });
}

function addReplayVerb(event: Command, { hub, out }: CommandContext): void {
  addVerb(event, 'replay', {
    summary: 'deliver an event again',
    description:
      'Delivers an event to an endpoint again, or for the first time, with the same event id. The types, apps and slots of the endpoint need not include the event.',
    examples: [`hubctl event replay ${EXAMPLE_ID} --endpoint whe_01k8e7qk3vf2tb5s0w9m4x6ydz`],
    prints: { document: DELIVERY },
  })
    .argument('<eventId>', 'the event, evt_…')
    .requiredOption('--endpoint <endpointId>', 'the endpoint, whe_…')
    .action(async (eventId: string, { endpoint }: { endpoint: string }) => {
      const { delivery } = await hub.events.replayEvent({ eventId, endpointId: endpoint });
      await out.record(deliveryView(delivery), DELIVERY_FIELDS);
      out.note(`See the result with: hubctl event show ${eventId}`);
    });
}
