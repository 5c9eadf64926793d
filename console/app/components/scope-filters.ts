// The filters by slot and by app. A limited token must always choose one.
import type { MethodName } from '../hub.ts';
import { useLive } from '../poll-hub.ts';
import { useRoute } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';
import { choicesWithAny, type Filter } from './filters.tsx';

export type Scope = {
  readonly names: readonly string[];
  /** The one that applies if none is chosen. */
  readonly only: string | undefined;
  /** The one that applies: that of the address, or `only`. */
  readonly chosen: string | undefined;
};

export function useSlots(): Scope {
  const { hub, caller } = useSignedIn();
  return useScope('slot', caller.slots, 'paymentAdmin.listSlots', async (signal) => {
    const { slots } = await hub.paymentAdmin.listSlots({}, { signal });
    return slots.map(({ name }) => name);
  });
}

export function useApps(): Scope {
  const { hub, caller } = useSignedIn();
  return useScope('app', caller.apps, 'licenses.listApps', async (signal) => {
    const { apps } = await hub.licenses.listApps({ pageSize: 1000 }, { signal });
    return apps.map(({ slug }) => slug);
  });
}

/** @param own those that the token is limited to */
function useScope(
  name: 'app' | 'slot',
  own: readonly string[],
  method: MethodName,
  list: (signal: AbortSignal) => Promise<readonly string[]>,
): Scope {
  const { may, isLimited } = useSignedIn();
  const { query } = useRoute();
  const { data } = useLive(name, 300_000, async (signal) => (!isLimited && may(method) ? list(signal) : own));
  const only = isLimited ? own[0] : undefined;
  return { names: data ?? own, only, chosen: query[name] ?? only };
}

type ScopeChoice = Pick<Scope, 'names' | 'only'>;

export function scopeFilter(name: 'app' | 'slot', label: string, { names, only }: ScopeChoice): Filter {
  if (only === undefined) return { name, label, choices: choicesWithAny(names) };
  return { name, label, choices: names.map((each) => [each, each]), otherwise: only };
}
