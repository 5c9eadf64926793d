// AccessService: returns the caller's identity and role, and the version and time of the hub.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import type { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { ROLES } from '../../lib/presentation/enum-names.ts';
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
        tokenId: caller?.id ?? '',
        apps: [...(caller?.scope?.apps ?? [])],
        slots: [...(caller?.scope?.slots ?? [])],
      };
    },
  };
}
