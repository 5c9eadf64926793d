// The filter by slot. A token limited to slots must always choose one.
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { useLive } from '../live.ts';
import { canCall, isLimited } from '../permissions.ts';
import type { SignedIn } from '../signed-in.ts';
import type { Filter } from './filters.tsx';

/** `only`: the slot if none is chosen. */
export type Slots = { readonly names: readonly string[]; readonly only: string | undefined };

const EVERY_MS = 300_000;

export function useSlots({ hub, caller }: SignedIn): Slots {
  const isFree = !isLimited(caller) && canCall(caller, PaymentAdminService.method.listSlots);
  const { data } = useLive('slots', EVERY_MS, async (signal) =>
    isFree ? (await hub.paymentAdmin.listSlots({}, { signal })).slots.map(({ name }) => name) : caller.slots,
  );
  return { names: data ?? caller.slots, only: isLimited(caller) ? caller.slots[0] : undefined };
}

export function slotFilter({ names, only }: Slots): Filter {
  const choices = names.map((name) => [name, name] as const);
  return only === undefined
    ? { name: 'slot', label: 'Slot', choices: [['', 'any'], ...choices] }
    : { name: 'slot', label: 'Slot', choices, otherwise: only };
}
