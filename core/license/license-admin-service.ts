// LicenseAdminService: administration of apps, licenses, seats and limit profiles.
import type { ServiceImpl } from '@connectrpc/connect';
import type { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LICENSE_STATES, nameOf } from '../../lib/presentation/enum-names.ts';
import { actorOf, appsOf } from '../access/caller.ts';
import { readTimestamp } from '../timestamp.ts';
import { readAppUpdate, readDefaultTerms } from './admin/app-requests.ts';
import { createApps } from './admin/apps.ts';
import { createChangeRpcs } from './admin/change/change-rpcs.ts';
import { findLicense } from './admin/find-licenses.ts';
import { createIssueAndKeyRpcs } from './admin/issue-and-key-rpcs.ts';
import type { IssueOptions } from './admin/issue-licenses.ts';
import { createLimitProfiles } from './admin/limit-profiles.ts';
import { listLicenses } from './admin/list/list-licenses.ts';
import { createSigningKeyAdmin } from './admin/rotate-signing-keys.ts';
import { createSeats, type SeatsOptions } from './admin/seats.ts';
import type { License } from './entities.ts';
import { createImportLicenses, type ImportOptions } from './import/import-licenses.ts';
import { appToProto, licenseToProto, limitProfileToProto, limitsFromProto, seatToProto } from './messages.ts';

export type LicenseAdminServiceOptions = IssueOptions & ImportOptions & SeatsOptions;

export function createLicenseAdminService(
  options: LicenseAdminServiceOptions,
): Partial<ServiceImpl<typeof LicenseAdminService>> {
  const { db, clock } = options;
  const apps = createApps(options);
  const signingKeys = createSigningKeyAdmin(options);
  const limitProfiles = createLimitProfiles(options);
  const importLicenses = createImportLicenses(options);
  const seats = createSeats(options);
  const toLicense = (license: License) => licenseToProto(license, clock());
  return {
    ...createIssueAndKeyRpcs(options),

    async createApp({ slug, name, defaultTerms }, context) {
      const app = { slug, name, terms: readDefaultTerms(defaultTerms) };
      return { app: appToProto(await apps.create(app, actorOf(context))) };
    },

    async updateApp(request, context) {
      const update = readAppUpdate(request);
      return { app: appToProto(await apps.update(request.app, update, actorOf(context))) };
    },

    async getApp({ app }) {
      return { app: appToProto(await apps.get(app)) };
    },

    async listApps(request) {
      const { items, nextPageToken } = await apps.list(request);
      return { apps: items.map(appToProto), nextPageToken };
    },

    async rotateSigningKey({ app }, context) {
      return { app: appToProto(await signingKeys.rotate(app, actorOf(context))) };
    },

    async withdrawSigningKey({ app, kid }, context) {
      return { app: appToProto(await signingKeys.withdraw(app, kid, actorOf(context))) };
    },

    async setLimitProfile({ app, name, limits }, context) {
      const profile = await limitProfiles.set(app, name, limitsFromProto(limits) ?? {}, actorOf(context));
      return { limitProfile: limitProfileToProto(profile, app) };
    },

    async listLimitProfiles({ app }) {
      const profiles = await limitProfiles.list(app);
      return { limitProfiles: profiles.map((profile) => limitProfileToProto(profile, app)) };
    },

    async importLicenses(requests, context) {
      const caller = { actor: actorOf(context), apps: appsOf(context) };
      const { imported, customersCreated, errors } = await importLicenses(requests, caller);
      return { imported, customersCreated, errors: [...errors] };
    },

    async getLicense({ licenseId }) {
      return { license: toLicense(await findLicense(db.em(), licenseId)) };
    },

    async listLicenses(request) {
      const { expiresBefore, expiresAfter } = request;
      const filter = {
        ...request,
        state: nameOf(LICENSE_STATES, request.state),
        expiresBefore: expiresBefore && readTimestamp('expiresBefore', expiresBefore),
        expiresAfter: expiresAfter && readTimestamp('expiresAfter', expiresAfter),
      };
      const { items, nextPageToken } = await listLicenses(db, filter, request, clock());
      return { licenses: items.map(toLicense), nextPageToken };
    },

    ...createChangeRpcs(options, toLicense),

    async listSeats(request) {
      const { licenseId, includeReleased } = request;
      const { items, nextPageToken } = await seats.list(licenseId, includeReleased, request);
      return { seats: items.map(seatToProto), nextPageToken };
    },

    async releaseSeat({ seatId }, context) {
      return { seat: seatToProto(await seats.release(seatId, actorOf(context))) };
    },
  };
}
