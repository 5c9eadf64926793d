// Converts roles between their names and the protobuf enum.
import type { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { nameOf, ROLES } from '../../lib/presentation/enum-names.ts';
import type { RoleName } from './entities.ts';

/** Undefined for an unknown number. */
export function roleName(role: Role): RoleName | undefined {
  return nameOf(ROLES, role);
}

/** For validated requests. @throws Error for an unknown number */
export function roleFromProto(role: Role): RoleName {
  const name = roleName(role);
  if (name === undefined) throw new Error(`no role has the number ${role}`);
  return name;
}
