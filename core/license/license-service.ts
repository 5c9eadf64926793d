// LicenseService: the RPCs that desktop applications call.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { LicenseState } from '../../gen/hub/license/v1/license_pb.ts';
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

    async checkStatus(request) {
      const status = await checkStatus(request);
      return {
        licenseId: status.licenseId,
        state: status.graceEndsAt ? LicenseState.GRACE : LicenseState.ACTIVE,
        seats: status.seats,
        ...(status.expiresAt && { expiresAt: timestampFromDate(status.expiresAt) }),
        ...(status.graceEndsAt && { graceEndsAt: timestampFromDate(status.graceEndsAt) }),
        limits: limitsToProto(status.limits),
        features: [...status.features],
        termsVersion: status.termsVersion,
        checkedAt: timestampFromDate(status.checkedAt),
        recheckAfterSeconds: status.recheckAfterSeconds,
      };
    },

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
