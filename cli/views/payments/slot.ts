// JSON schemas and columns of payment slots.
import type { Slot } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { pairsText } from '../cells.ts';
import * as json from '../schema.ts';

/** Words of the environments by their number in the contract. */
export const SLOT_ENVIRONMENTS = { sandbox: 1, production: 2 } as const;

export const SLOT = json.view('Slot', 'hub.payment.v1.Slot', {
  name: json.text(),
  slotId: json.id('slot'),
  gateway: json.text(),
  environment: json.word(SLOT_ENVIRONMENTS),
  baseUrl: json.text(),
  options: json.map(json.text()),
  returnOrigins: json.list(json.text()),
  disabled: json.boolean('whether new sessions are refused'),
  createdAt: json.time(),
  rotatedAt: json.optional(json.time()),
  disabledAt: json.optional(json.time('when it was disabled')),
});
export type SlotView = json.ValueOf<typeof SLOT>;

export const slotView = (slot: Slot | undefined): SlotView =>
  json.viewOf(SLOT, slot, { disabled: slot?.disabledAt !== undefined });

export const SLOT_FIELDS: readonly Column<SlotView>[] = [
  ...columnsOf(SLOT, { name: 'Slot', slotId: 'Id' }, 'gateway', 'environment'),
  { title: 'State', cell: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
  { title: 'Base URL', cell: (slot) => slot.baseUrl },
  { title: 'Options', cell: (slot) => pairsText(slot.options) },
  { title: 'Return origins', cell: (slot) => slot.returnOrigins.join(', ') },
  ...columnsOf(SLOT, { createdAt: 'Added', rotatedAt: 'Credentials since' }, 'disabledAt'),
];

export const SLOT_COLUMNS = pick(SLOT_FIELDS, 'Slot', 'Gateway', 'Environment', 'State', 'Base URL');

export const SLOT_TEST = json.view('SlotTest', 'hub.payment.v1.TestSlotResponse', {
  slot: json.text('name of the slot'),
  ok: json.boolean(),
  answered: json.boolean(),
  detail: json.text(),
  durationMs: json.integer(),
});

export const SLOT_TEST_FIELDS: readonly Column<json.ValueOf<typeof SLOT_TEST>>[] = [
  { title: 'Slot', cell: (item) => item.slot },
  {
    title: 'Credentials',
    cell: ({ ok, answered }) => (answered ? (ok ? 'work' : 'do not work') : 'not known'),
  },
  { title: 'Provider', cell: (item) => item.detail },
  { title: 'Took', cell: (item) => `${item.durationMs} ms` },
];
