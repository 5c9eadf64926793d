// The filter by app. A token limited to apps must always choose one.
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { useLive } from '../live.ts';
import { canCall, isLimited } from '../permissions.ts';
import type { SignedIn } from '../signed-in.ts';
import type { Filter } from './filters.tsx';

/** `only`: the app if none is chosen. */
export type Apps = { readonly slugs: readonly string[]; readonly only: string | undefined };

const EVERY_MS = 300_000;

export function useApps({ hub, caller }: SignedIn): Apps {
  const isFree = !isLimited(caller) && canCall(caller, LicenseAdminService.method.listApps);
  const { data } = useLive('apps', EVERY_MS, async (signal) =>
    isFree
      ? (await hub.licenses.listApps({ pageSize: 1000 }, { signal })).apps.map(({ slug }) => slug)
      : caller.apps,
  );
  return { slugs: data ?? caller.apps, only: isLimited(caller) ? caller.apps[0] : undefined };
}

export function appFilter({ slugs, only }: Apps): Filter {
  const choices = slugs.map((slug) => [slug, slug] as const);
  return only === undefined
    ? { name: 'app', label: 'App', choices: [['', 'any'], ...choices] }
    : { name: 'app', label: 'App', choices, otherwise: only };
}
