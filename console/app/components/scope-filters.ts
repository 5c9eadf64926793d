// The filters by slot and by app. A token limited to some of them must always choose one.
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { useLive } from '../live.ts';
import { canCall, isLimited } from '../permissions.ts';
import type { SignedIn } from '../signed-in.ts';
import { choicesWithAny, type Filter } from './filters.tsx';

/** `only`: the one that applies if none is chosen. */
export type Scope = { readonly names: readonly string[]; readonly only: string | undefined };

const EVERY_MS = 300_000;

export function useSlots({ hub, caller }: SignedIn): Scope {
  const isFree = !isLimited(caller) && canCall(caller, PaymentAdminService.method.listSlots);
  const { data } = useLive('slots', EVERY_MS, async (signal) =>
    isFree ? (await hub.paymentAdmin.listSlots({}, { signal })).slots.map(({ name }) => name) : caller.slots,
  );
  return { names: data ?? caller.slots, only: isLimited(caller) ? caller.slots[0] : undefined };
}

export function useApps({ hub, caller }: SignedIn): Scope {
  const isFree = !isLimited(caller) && canCall(caller, LicenseAdminService.method.listApps);
  const { data } = useLive('apps', EVERY_MS, async (signal) =>
    isFree
      ? (await hub.licenses.listApps({ pageSize: 1000 }, { signal })).apps.map(({ slug }) => slug)
      : caller.apps,
  );
  return { names: data ?? caller.apps, only: isLimited(caller) ? caller.apps[0] : undefined };
}

export function scopeFilter(name: string, label: string, { names, only }: Scope): Filter {
  if (only === undefined) return { name, label, choices: choicesWithAny(names) };
  return { name, label, choices: names.map((each) => [each, each]), otherwise: only };
}
