// TokenService: creates, lists and revokes service tokens.
import type { ServiceImpl } from '@connectrpc/connect';
import type { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { ROLES } from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import { readTimestamp, timestampsIn } from '../timestamp.ts';
import { actorOf } from './caller.ts';
import type { ServiceToken } from './entities.ts';
import { roleFromProto } from './roles.ts';
import type { createTokens } from './token-admin.ts';

export function createTokenService(
  tokens: ReturnType<typeof createTokens>,
): ServiceImpl<typeof TokenService> {
  return {
    async createToken({ name, role, apps, slots, expiresAt, certificateSubject }, context) {
      const newToken = {
        name,
        role: roleFromProto(role),
        scope: { apps, slots },
        expiresAt: expiresAt && readTimestamp('expiresAt', expiresAt),
        certificateSubject,
      };
      const { serviceToken, token } = await tokens.create(newToken, actorOf(context));
      return { serviceToken: tokenToProto(serviceToken), token: token ?? '' };
    },

    async listTokens(request) {
      const { items, nextPageToken } = await tokens.list(request.includeEnded, request);
      return { serviceTokens: items.map(tokenToProto), nextPageToken };
    },

    async revokeToken({ tokenId }, context) {
      return { serviceToken: tokenToProto(await tokens.revoke(tokenId, actorOf(context))) };
    },
  };
}

function tokenToProto(token: ServiceToken) {
  const { id, name, role, scope, certificateSubject } = token;
  return {
    tokenId: formatId('tok', id),
    name,
    role: ROLES[role],
    apps: [...(scope?.apps ?? [])],
    slots: [...(scope?.slots ?? [])],
    ...(certificateSubject && { certificateSubject }),
    ...timestampsIn(token, 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'),
  };
}
