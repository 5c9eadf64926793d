// Converts roles between their names and the protobuf enum.
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import type { RoleName } from './entities.ts';

const NUMBERS: Readonly<Record<RoleName, Role>> = {
  admin: Role.ADMIN,
  operator: Role.OPERATOR,
  service: Role.SERVICE,
  viewer: Role.VIEWER,
  monitor: Role.MONITOR,
  gateway: Role.GATEWAY,
};

const NAMES = new Map<Role, RoleName>(
  Object.entries(NUMBERS).map(([name, number]) => [number, name as RoleName]), // the keys above
);

export function roleToProto(role: RoleName): Role {
  return NUMBERS[role];
}

/** Undefined for an unknown number. */
export function roleName(role: Role): RoleName | undefined {
  return NAMES.get(role);
}

/** For validated requests. @throws Error for an unknown number */
export function roleFromProto(role: Role): RoleName {
  const name = roleName(role);
  if (name === undefined) throw new Error(`no role has the number ${role}`);
  return name;
}
