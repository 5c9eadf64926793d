// LicenseService: the RPCs that desktop applications call.
import type { ServiceImpl } from '@connectrpc/connect';
import type { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import type { Database } from '../storage/database.ts';
import { type ActivateOptions, createActivate } from './activation/activate.ts';
import { createCheckStatus } from './activation/check-status.ts';
import { createDeactivate } from './activation/deactivate.ts';
import { createLimitProfiles } from './admin/limit-profiles.ts';
import { createPublishedKeys } from './keys/public-keys.ts';
import { publicJwk } from './keys/signing-key-pair.ts';
import { limitsToProto } from './messages.ts';

export type LicenseServiceOptions = ActivateOptions & { readonly db: Database };

export function createLicenseService(options: LicenseServiceOptions): ServiceImpl<typeof LicenseService> {
  const publishedKeys = createPublishedKeys(options.pool);
  const deactivate = createDeactivate(options);
  const limitProfiles = createLimitProfiles(options);
  return {
    activate: createActivate(options),

    async deactivate(request) {
      return { released: await deactivate(request) };
    },

    checkStatus: createCheckStatus(options),

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
