// AccessService: tells a caller how the hub sees it.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import type { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import type { Clock } from '../clock.ts';
import { callerKey } from './caller.ts';

export function createAccessService(version: string, clock: Clock): ServiceImpl<typeof AccessService> {
  return {
    getCaller(_request, context) {
      const caller = context.values.get(callerKey);
      return {
        name: caller?.name ?? '',
        role: caller ? ROLES[caller.role] : Role.UNSPECIFIED,
        hubVersion: version,
        hubTime: timestampFromDate(clock()),
      };
    },
  };
}

const ROLES = {
  admin: Role.ADMIN,
  operator: Role.OPERATOR,
  service: Role.SERVICE,
  viewer: Role.VIEWER,
} as const;
