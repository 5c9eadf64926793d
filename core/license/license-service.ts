// LicenseService: the RPCs that desktop applications call.
import type { ServiceImpl } from '@connectrpc/connect';
import type { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import type { createActivate } from './activation/activate.ts';
import type { createCheckStatus } from './activation/check-status.ts';
import type { createDeactivate } from './activation/deactivate.ts';
import type { createLimitProfiles } from './admin/limit-profiles.ts';
import type { PublishedKeys } from './keys/public-keys.ts';
import { publicJwk } from './keys/signing-key-pair.ts';
import { limitsToProto } from './messages.ts';

export type LicenseServiceOptions = {
  readonly publishedKeys: PublishedKeys;
  readonly activate: ReturnType<typeof createActivate>;
  readonly deactivate: ReturnType<typeof createDeactivate>;
  readonly checkStatus: ReturnType<typeof createCheckStatus>;
  readonly limitProfiles: ReturnType<typeof createLimitProfiles>;
};

export function createLicenseService(options: LicenseServiceOptions): ServiceImpl<typeof LicenseService> {
  const { publishedKeys, activate, deactivate, checkStatus, limitProfiles } = options;
  return {
    activate,

    async deactivate(request) {
      return { released: await deactivate(request) };
    },

    checkStatus,

    async getPublicKey({ app }) {
      const [active] = await publishedKeys(app);
      return active;
    },

    async getJwks({ app }) {
      const keys = await publishedKeys(app);
      return { keys: keys.map(({ publicKeyPem, kid }) => publicJwk(publicKeyPem, kid)) };
    },

    async getFreeLimits({ app }) {
      return { limits: limitsToProto(await limitProfiles.limitsOf(app, 'free')) };
    },
  };
}
