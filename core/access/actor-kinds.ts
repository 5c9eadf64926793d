// Converts kinds of actors between their names and the protobuf enum.
import { ActorKind } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { ACTOR_KINDS, type ActorKind as ActorKindName } from '../audit/entities.ts';

const NUMBERS: Readonly<Record<ActorKindName, ActorKind>> = {
  token: ActorKind.TOKEN,
  certificate: ActorKind.CERTIFICATE,
  hub: ActorKind.HUB,
  local: ActorKind.LOCAL,
};

export function actorKindToProto(kind: ActorKindName): ActorKind {
  return NUMBERS[kind];
}

/** Undefined for an unknown number. */
export function actorKindName(kind: ActorKind): ActorKindName | undefined {
  return ACTOR_KINDS.find((name) => NUMBERS[name] === kind);
}
