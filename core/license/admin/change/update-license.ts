// UpdateLicense: replaces the terms that a mask names, and sets or removes single limits, features and
// metadata.
import type { PoolClient } from 'pg';
import type { UpdateLicenseRequest } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { HubError, updateMaskInvalid } from '../../../errors.ts';
import { isResourceName } from '../../../resource-name.ts';
import { readTimestamp } from '../../../timestamp.ts';
import { limitsFromProto } from '../../messages.ts';
import type { Metadata } from '../../terms.ts';
import { checkSignedMetadata } from '../issue-terms.ts';
import { limitProfileUnknown } from '../limit-profiles.ts';
import { checkExpiry } from './check-expiry.ts';
import type { ChangeableTerms, LockedLicense } from './locked-license.ts';

const MASK_FIELDS: Readonly<Record<string, keyof UpdateLicenseRequest>> = {
  seat_limit: 'seatLimit',
  limit_profile: 'limitProfile',
  limits: 'limits',
  features: 'features',
  expires_at: 'expiresAt',
  grace_days: 'graceDays',
  lease_days: 'leaseDays',
  metadata: 'metadata',
  signed_metadata: 'signedMetadata',
};

const MAX_LIMITS = 64;
const MAX_FEATURES = 100;
const MAX_METADATA = 50;

/**
 * Returns the fields of the mask. @throws HubError `update_mask_invalid` for an unknown field, or an empty
 * update
 */
export function readMask(request: UpdateLicenseRequest): ReadonlySet<keyof UpdateLicenseRequest> {
  const paths = request.updateMask?.paths ?? [];
  const fields = paths.map((path) => {
    const field = Object.hasOwn(MASK_FIELDS, path) ? MASK_FIELDS[path] : undefined;
    if (field !== undefined) return field;
    throw updateMaskInvalid(`"${path}" is not one of ${Object.keys(MASK_FIELDS).join(', ')}`);
  });
  const unmasked = Object.values(MASK_FIELDS).find(
    (field) => isSet(request[field]) && !fields.includes(field),
  );
  if (unmasked !== undefined)
    throw updateMaskInvalid(`the mask does not name ${unmasked}, which the request sets`);
  if (fields.length === 0 && !SINGLE_FIELDS.some((field) => isSet(request[field])))
    throw updateMaskInvalid('name at least one term to change');
  return new Set(fields);
}

const SINGLE_FIELDS = [
  'setLimits',
  'removeLimits',
  'addFeatures',
  'removeFeatures',
  'setMetadata',
  'removeMetadata',
  'signMetadata',
] as const;

/** Whether a field of a request differs from its default. */
function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && !('$typeName' in value))
    return Object.keys(value).length > 0;
  return value !== undefined && value !== 0 && value !== '';
}

/**
 * Returns the terms of a license after an update.
 *
 * @throws HubError `limit_profile_unknown`, `expiry_invalid`, `signed_metadata_invalid`, `too_many`
 */
export async function updatedTerms(
  { app, terms }: LockedLicense,
  request: UpdateLicenseRequest,
  now: Date,
  client: PoolClient,
): Promise<ChangeableTerms> {
  const mask = readMask(request);
  const expiresAt = mask.has('expiresAt')
    ? request.expiresAt && readTimestamp('expiresAt', request.expiresAt)
    : (terms.expiresAt ?? undefined);
  const graceDays = mask.has('graceDays') ? request.graceDays : terms.graceDays;
  if (expiresAt !== undefined && (mask.has('expiresAt') || mask.has('graceDays')))
    checkExpiry(expiresAt, { graceDays, ...(mask.has('expiresAt') && { now }) });
  const metadata = updatedMetadata(terms, request, mask.has('metadata'));
  return {
    ...terms,
    seatLimit: mask.has('seatLimit') ? request.seatLimit || app.defaultSeatLimit : terms.seatLimit,
    limitProfile: mask.has('limitProfile')
      ? await findProfile(client, app, request.limitProfile)
      : terms.limitProfile,
    limits: updatedLimits(terms, request, mask.has('limits')),
    features: updatedFeatures(terms, request, mask.has('features')),
    expiresAt: expiresAt ?? null,
    beginsLater: mask.has('expiresAt') ? false : terms.beginsLater,
    graceDays,
    leaseDays: mask.has('leaseDays') ? request.leaseDays || null : terms.leaseDays,
    metadata,
    signedMetadata: updatedSigned(terms, request, metadata, mask.has('signedMetadata')),
  };
}

async function findProfile(
  client: PoolClient,
  app: LockedLicense['app'],
  name: string | undefined,
): Promise<ChangeableTerms['limitProfile']> {
  if (name === undefined) return null;
  const { rows } = await client.query<{ id: string; name: string }>({
    name: 'find_limit_profile',
    // limit_profile_name_key
    text: 'select id, name from limit_profile where app_id = $1 and name = $2',
    values: [app.id, isResourceName(name) ? name : ''],
  });
  if (rows[0] !== undefined) return rows[0];
  throw limitProfileUnknown(app, name);
}

function updatedLimits(
  terms: ChangeableTerms,
  request: UpdateLicenseRequest,
  replaces: boolean,
): ChangeableTerms['limits'] {
  const kept = replaces ? limitsFromProto(request.limits) : terms.limits;
  const limits = without({ ...kept, ...limitsFromProto(request.setLimits) }, request.removeLimits);
  checkCount('setLimits', 'limits', Object.keys(limits).length, MAX_LIMITS);
  return Object.keys(limits).length > 0 ? limits : null;
}

function updatedFeatures(
  terms: ChangeableTerms,
  request: UpdateLicenseRequest,
  replaces: boolean,
): readonly string[] {
  const features = new Set([...(replaces ? request.features : terms.features), ...request.addFeatures]);
  for (const name of request.removeFeatures) features.delete(name);
  checkCount('addFeatures', 'features', features.size, MAX_FEATURES);
  return [...features].sort();
}

function updatedMetadata(terms: ChangeableTerms, request: UpdateLicenseRequest, replaces: boolean): Metadata {
  const kept = replaces ? request.metadata : terms.metadata;
  const metadata = without({ ...kept, ...request.setMetadata }, request.removeMetadata);
  checkCount('setMetadata', 'entries of metadata', Object.keys(metadata).length, MAX_METADATA);
  return metadata;
}

/** Removing an entry of metadata also removes it from the signed metadata. */
function updatedSigned(
  terms: ChangeableTerms,
  request: UpdateLicenseRequest,
  metadata: Metadata,
  replaces: boolean,
): readonly string[] {
  const kept = terms.signedMetadata.filter((key) => Object.hasOwn(metadata, key));
  const signed = new Set([...(replaces ? request.signedMetadata : kept), ...request.signMetadata]);
  const signedMetadata = [...signed].sort();
  checkSignedMetadata({ metadata, signedMetadata }, replaces ? 'signedMetadata' : 'signMetadata');
  return signedMetadata;
}

function without<T>(entries: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !names.includes(name)));
}

function checkCount(field: string, items: string, count: number, max: number): void {
  if (count <= max) return;
  throw new HubError('too_many', `a license has at most ${max} ${items}`, { field });
}
