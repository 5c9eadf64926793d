// The RPCs of LicenseAdminService that issue licenses, show and replace their keys, and manage key secrets.
import { toJson } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  type IssueLicensesRequest,
  IssueLicensesRequestSchema,
  type LicenseAdminService,
  RekeyLicenseRequestSchema,
} from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { actorOf, appsOf } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import { readTimestamp } from '../../timestamp.ts';
import { licenseToProto, limitsFromProto } from '../messages.ts';
import { createIssueLicenses, type IssueOptions, type IssueRequest } from './issue-licenses.ts';
import { createKeySecretAdmin, type ListedKeySecret } from './key-secrets.ts';
import { createLicenseKeys } from './show-or-replace-key.ts';

export function createIssueAndKeyRpcs(
  options: IssueOptions,
): Partial<ServiceImpl<typeof LicenseAdminService>> {
  const { clock } = options;
  const issueLicenses = createIssueLicenses(options);
  const licenseKeys = createLicenseKeys(options);
  const keySecretAdmin = createKeySecretAdmin(options);
  return {
    async issueLicenses(request, context) {
      const issued = await issueLicenses(issueRequest(request, appsOf(context)), actorOf(context));
      const now = clock();
      return {
        licenses: issued.map(({ license, licenseKey }) => ({
          license: licenseToProto(license, now),
          licenseKey,
        })),
      };
    },

    async getLicenseKey({ licenseId }, context) {
      return { licenseKey: await licenseKeys.show(licenseId, actorOf(context)) };
    },

    async rekeyLicense(request, context) {
      const { idempotencyKey: key, ...asSent } = request;
      const { licenseId } = request;
      const repeatable =
        key === undefined ? undefined : { key, request: toJson(RekeyLicenseRequestSchema, asSent) };
      const { license, licenseKey } = await licenseKeys.rekey(licenseId, repeatable, actorOf(context));
      return { license: licenseToProto(license, clock()), licenseKey };
    },

    async listKeySecrets() {
      return { keySecrets: (await keySecretAdmin.list()).map(keySecretToProto) };
    },

    async rotateKeySecret(_, context) {
      return { keySecret: keySecretToProto(await keySecretAdmin.rotate(actorOf(context))) };
    },
  };
}

function issueRequest(request: IssueLicensesRequest, callerApps: IssueRequest['callerApps']): IssueRequest {
  const { idempotencyKey: key, ...asSent } = request;
  return {
    ...asSent,
    limits: limitsFromProto(request.limits),
    expiresAt: request.expiresAt && readTimestamp('expiresAt', request.expiresAt),
    customer: customerOf(request),
    count: request.count || 1,
    callerApps,
    repeatable: key === undefined ? undefined : { key, request: toJson(IssueLicensesRequestSchema, asSent) },
  };
}

/** @throws ConnectError invalid_argument if the request has both an id and a name or email */
function customerOf({ customerId, customer, customerEmail }: IssueLicensesRequest): IssueRequest['customer'] {
  const isInline = customer !== undefined || customerEmail !== undefined;
  if (customerId === undefined) return isInline ? { name: customer ?? '', email: customerEmail } : undefined;
  if (!isInline) return customerId;
  throw new ConnectError(
    'customerId: give the id of a customer, or a name and an email, not both',
    Code.InvalidArgument,
  );
}

function keySecretToProto({ id, active, createdAt, licenses }: ListedKeySecret) {
  return {
    keySecretId: formatId('ksec', id),
    active,
    createdAt: timestampFromDate(createdAt),
    licenses: BigInt(licenses),
  };
}
