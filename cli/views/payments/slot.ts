// JSON schemas and columns of payment slots.
import type { Slot } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  id,
  integer,
  list,
  map,
  object,
  optional,
  text,
  time,
  type ValueOf,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { pairsText, rfc3339, shortTime } from '../cells.ts';

/** Words of the environments by their number in the contract. */
export const SLOT_ENVIRONMENTS = { sandbox: 1, production: 2 } as const;

export const SLOT = object(
  'Slot',
  {
    name: text(),
    slotId: id('slot'),
    gateway: text(),
    environment: word(SLOT_ENVIRONMENTS),
    baseUrl: text(),
    options: map(text()),
    returnOrigins: list(text()),
    disabled: boolean('whether new sessions are refused'),
    createdAt: time(),
    rotatedAt: optional(time()),
    disabledAt: optional(time('when it was disabled')),
  },
  { message: 'hub.payment.v1.Slot' },
);
export type SlotView = ValueOf<typeof SLOT>;

export function slotView(slot: Slot): SlotView {
  return {
    name: slot.name,
    slotId: slot.slotId,
    gateway: slot.gateway,
    environment: wordFor(SLOT_ENVIRONMENTS, slot.environment),
    baseUrl: slot.baseUrl,
    options: slot.options,
    returnOrigins: slot.returnOrigins,
    disabled: slot.disabledAt !== undefined,
    createdAt: rfc3339(requireField(slot.createdAt, 'creation time')),
    ...(slot.rotatedAt && { rotatedAt: rfc3339(slot.rotatedAt) }),
    ...(slot.disabledAt && { disabledAt: rfc3339(slot.disabledAt) }),
  };
}

export const SLOT_COLUMNS: readonly Column<SlotView>[] = [
  { title: 'SLOT', cell: (slot) => slot.name },
  { title: 'GATEWAY', cell: (slot) => slot.gateway },
  { title: 'ENVIRONMENT', cell: (slot) => slot.environment },
  { title: 'STATE', cell: state },
  { title: 'BASE URL', cell: (slot) => slot.baseUrl },
];

export const SLOT_FIELDS: readonly Column<SlotView>[] = [
  { title: 'Slot', cell: (slot) => slot.name },
  { title: 'Id', cell: (slot) => slot.slotId },
  { title: 'Gateway', cell: (slot) => slot.gateway },
  { title: 'Environment', cell: (slot) => slot.environment },
  { title: 'State', cell: state },
  { title: 'Base URL', cell: (slot) => slot.baseUrl },
  { title: 'Options', cell: (slot) => pairsText(slot.options) },
  { title: 'Return origins', cell: (slot) => slot.returnOrigins.join(', ') },
  { title: 'Added', cell: (slot) => shortTime(slot.createdAt) },
  { title: 'Credentials since', cell: (slot) => shortTime(slot.rotatedAt) },
  { title: 'Disabled', cell: (slot) => shortTime(slot.disabledAt) },
];

function state({ disabled }: SlotView): string {
  return disabled ? 'disabled' : 'enabled';
}

export const SLOT_TEST = object(
  'SlotTest',
  {
    slot: text('name of the slot'),
    ok: boolean(),
    answered: boolean(),
    detail: text(),
    durationMs: integer(),
  },
  { message: 'hub.payment.v1.TestSlotResponse' },
);

export const SLOT_TEST_FIELDS: readonly Column<ValueOf<typeof SLOT_TEST>>[] = [
  { title: 'Slot', cell: (item) => item.slot },
  {
    title: 'Credentials',
    cell: ({ ok, answered }) => (answered ? (ok ? 'work' : 'do not work') : 'not known'),
  },
  { title: 'Provider', cell: (item) => item.detail },
  { title: 'Took', cell: (item) => `${item.durationMs} ms` },
];
