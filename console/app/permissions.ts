// Permissions of the caller, from the same proto options by which the hub authorizes.
import { type DescField, type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';
import { access, Role, Subject, subject } from '../../gen/hub/access/v1/access_pb.ts';
import type { GetCallerResponse } from '../../gen/hub/access/v1/access_service_pb.ts';
import { ROLES, wordFor } from '../../lib/presentation/enum-names.ts';

type Caller = Pick<GetCallerResponse, 'role' | 'apps' | 'slots'>;

/** Whether the caller may call the method for at least one app or slot. The hub checks each request. */
export function canCall(caller: Caller, method: DescMethod): boolean {
  if (!hasOption(method, access)) return false;
  const rule = getOption(method, access);
  const hasRole =
    caller.role === Role.ADMIN ||
    rule.roles.includes(caller.role) ||
    (rule.appScopedRoles.includes(caller.role) && caller.apps.length > 0);
  if (!hasRole || !isLimited(caller) || rule.anyScope) return rule.public || hasRole;
  return method.input.fields.some((field) => isWithin(caller, field));
}

/** Whether the token is limited to certain apps or slots. */
export function isLimited({ apps, slots }: Caller): boolean {
  return apps.length + slots.length > 0;
}

/** Whether the field can name a resource within the token's apps or slots. */
function isWithin({ apps, slots }: Caller, field: DescField): boolean {
  if (!hasOption(field, subject)) return false;
  const named = getOption(field, subject);
  if (named === Subject.ORDER) return apps.length > 0 && slots.length > 0;
  return OF_APPS.has(named) ? apps.length > 0 : slots.length > 0;
}

const OF_APPS: ReadonlySet<number> = new Set([
  Subject.APP,
  Subject.LICENSE,
  Subject.LICENSE_KEY,
  Subject.SEAT,
  Subject.CUSTOMER,
  Subject.OFFER,
]);

export function roleName(role: number): string {
  return wordFor(ROLES, role);
}
