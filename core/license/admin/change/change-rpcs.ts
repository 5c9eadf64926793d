// The RPCs of LicenseAdminService that change a license after the sale.
import { type MessageInitShape, toJson } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  type LicenseAdminService,
  type RenewLicenseRequest,
  RenewLicenseRequestSchema,
  type UpdateLicenseRequest,
  UpdateLicenseRequestSchema,
} from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { LicenseSchema } from '../../../../gen/hub/license/v1/license_pb.ts';
import { actorOf } from '../../../access/caller.ts';
import { lockCustomerForShare } from '../../../customer/lock-customer.ts';
import { HubError } from '../../../errors.ts';
import { readTimestamp } from '../../../timestamp.ts';
import type { License } from '../../entities.ts';
import { changeState } from './change-state.ts';
import { type Changed, type ChangeOptions, createChangeTerms } from './change-terms.ts';
import { type DecideState, reinstated, resumed, revoked, suspended } from './decide-state-change.ts';
import { type Extension, renewedTerms } from './renew-license.ts';
import { readMask, updatedTerms } from './update-license.ts';

type Rpcs = Pick<
  ServiceImpl<typeof LicenseAdminService>,
  | 'updateLicense'
  | 'renewLicense'
  | 'suspendLicense'
  | 'resumeLicense'
  | 'revokeLicense'
  | 'reinstateLicense'
  | 'transferLicense'
>;

export function createChangeRpcs(
  options: ChangeOptions,
  toLicense: (license: License) => MessageInitShape<typeof LicenseSchema>,
): Rpcs {
  const changeTerms = createChangeTerms(options);
  const toReply = ({ license, changed }: Changed) => ({ license: toLicense(license), changed });
  const change = async (licenseId: string, decide: DecideState, context: HandlerContext) =>
    toReply(await changeState(options, licenseId, decide, actorOf(context)));
  return {
    async updateLicense(request, context) {
      const result = await changeTerms(
        { ...request, request: updateAsSent(request) },
        {
          action: 'license.update',
          decide: (locked, now, client) => updatedTerms(locked, request, now, client),
        },
        actorOf(context),
      );
      return { ...toReply(result), seatsOverLimit: seatsOver(result.license) };
    },

    async renewLicense(request, context) {
      const extension = extensionOf(request);
      const result = await changeTerms(
        { ...request, request: toJson(RenewLicenseRequestSchema, withoutKey(request)) },
        { action: 'license.renew', decide: async (locked, now) => renewedTerms(locked, extension, now) },
        actorOf(context),
      );
      return toReply(result);
    },

    suspendLicense: ({ licenseId, reason }, context) => change(licenseId, suspended(reason), context),
    resumeLicense: ({ licenseId }, context) => change(licenseId, resumed, context),
    revokeLicense: ({ licenseId, reason }, context) => change(licenseId, revoked(reason), context),
    reinstateLicense: ({ licenseId }, context) => change(licenseId, reinstated, context),

    async transferLicense(request, context) {
      let customerId: string | null = null;
      const result = await changeTerms(
        request,
        {
          action: 'license.transfer',
          prepare: async (client) => {
            customerId = await lockCustomerForShare(client, request.customerId);
          },
          decide: async ({ terms }) => ({ ...terms, customerId }),
        },
        actorOf(context),
      );
      return toReply(result);
    },
  };
}

/** Returns the number of active machines beyond the seat limit. */
function seatsOver({ seatLimit, seatsUsed }: License): number {
  return seatLimit === -1 ? 0 : Math.max(0, seatsUsed - seatLimit);
}

/** @throws HubError `period_invalid` without an extension */
function extensionOf({ extension }: RenewLicenseRequest): Extension {
  switch (extension.case) {
    case 'by':
      return { by: extension.value };
    case 'to':
      return { to: readTimestamp('to', extension.value) };
    case undefined:
      throw new HubError('period_invalid', 'set the period "by" or the time "to"', { field: 'by' });
  }
}

/** Returns the request as JSON, without its key. Refuses a mask or a time that JSON cannot represent. */
function updateAsSent(request: UpdateLicenseRequest): unknown {
  readMask(request);
  if (request.expiresAt) readTimestamp('expiresAt', request.expiresAt);
  return toJson(UpdateLicenseRequestSchema, withoutKey(request));
}

function withoutKey<T extends { idempotencyKey?: string | undefined }>(request: T): T {
  const { idempotencyKey: _, ...rest } = request;
  return rest as T; // the key is optional
}
