// Permissions of the caller, from the same proto options by which the hub authorizes.
import { type DescMessage, type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';
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
  return subjectsOf(method.input).some((named) => isWithin(caller, named));
}

/** Whether the token is limited to certain apps or slots. */
export function isLimited({ apps, slots }: Caller): boolean {
  return apps.length + slots.length > 0;
}

/** What the fields of a request can name, also through nested messages. */
function subjectsOf(message: DescMessage, above: readonly DescMessage[] = []): readonly Subject[] {
  return message.fields.flatMap((field) => {
    if (field.fieldKind !== 'message') return hasOption(field, subject) ? [getOption(field, subject)] : [];
    const path = [...above, message];
    return path.includes(field.message) ? [] : subjectsOf(field.message, path);
  });
}

/** Whether a resource of this kind can be within the token's apps and slots. */
function isWithin(caller: Caller, named: Subject): boolean {
  const owners = OWNERS[named] ?? [];
  return owners.length > 0 && owners.every((owner) => caller[owner].length > 0);
}

/** The owners of a resource, which must be within the scope of the token. */
const OWNERS: Readonly<Record<Subject, readonly ('apps' | 'slots')[]>> = {
  [Subject.UNSPECIFIED]: [],
  [Subject.APP]: ['apps'],
  [Subject.LICENSE]: ['apps'],
  [Subject.LICENSE_KEY]: ['apps'],
  [Subject.SEAT]: ['apps'],
  [Subject.SLOT]: ['slots'],
  [Subject.CHARGE_SESSION]: ['slots'],
  [Subject.CALLBACK]: ['slots'],
  [Subject.DUPLICATE_PAYMENT]: ['slots'],
  [Subject.REFUND]: ['slots'],
  [Subject.CUSTOMER]: ['apps'],
  [Subject.FEE_RULE]: ['slots'],
  [Subject.OFFER]: ['apps'],
  [Subject.ORDER]: ['apps', 'slots'],
  [Subject.MAIL]: ['apps'],
};

export function roleName(role: number): string {
  return wordFor(ROLES, role);
}
