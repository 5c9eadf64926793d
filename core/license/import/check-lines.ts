// Checks the licenses of an import by the rules of the contract, and by those that depend on the app.
import type { KeyObject } from 'node:crypto';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import {
  type ImportedLicense,
  ImportedLicenseSchema,
} from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { createFindBrokenRules } from '../../rpc/interceptors/validation.ts';
import { readTimestamp } from '../../timestamp.ts';
import { ENDS_TOO_LATE, endsTooLate } from '../admin/change/check-expiry.ts';
import type { NewTerms } from '../admin/issue-terms.ts';
import type { App } from '../entities.ts';
import { hasSymbols, storedForm } from '../keys/hash-typed-key.ts';
import { limitsFromProto } from '../messages.ts';

export type LineError = { readonly line: number; readonly field: string; readonly message: string };

/** A license that follows all rules except those about other licenses. */
export type ImportRow = Pick<
  NewTerms,
  'seatLimit' | 'limits' | 'leaseDays' | 'graceDays' | 'expiresAt' | 'features' | 'metadata'
> & {
  readonly line: number;
  readonly keyHash: Buffer;
  readonly keyHint: string;
  readonly limitProfileId: string | null;
  readonly createdAt: Date;
  readonly revoked: boolean;
  /** Undefined without a customer. */
  readonly customer: ImportedCustomer | undefined;
};

/** Each may be empty, but not all. */
export type ImportedCustomer = { readonly ref: string; readonly email: string; readonly name: string };

export type CheckLinesOptions = {
  readonly app: Pick<App, 'slug' | 'defaultLeaseDays' | 'defaultGraceDays' | 'defaultSeatLimit'>;
  /** Ids of the app's limit profiles by name. */
  readonly profiles: ReadonlyMap<string, string>;
  readonly pepper: KeyObject;
  readonly allowShort: boolean;
  readonly now: Date;
};

const MIN_KEY_LENGTH = 16;

const findBrokenRules = createFindBrokenRules(ImportedLicenseSchema);

/** Returns the row of a line, or its errors. Finds each key that several lines have. */
export function createCheckLine(options: CheckLinesOptions) {
  const { app, profiles, pepper, allowShort, now } = options;
  /** The line of each key so far, by its hash. */
  const lines = new Map<string, number>();

  return async (license: ImportedLicense, line: number): Promise<ImportRow | readonly LineError[]> => {
    const errors: LineError[] = [];
    const refuse = (field: string, message: string): void => {
      errors.push({ line, field, message });
    };
    for (const { field, message } of await findBrokenRules(license)) refuse(field, message);
    const { licenseKey, limitProfile } = license;
    const isNamed = limitProfile !== undefined && limitProfile !== '';
    const limitProfileId = isNamed ? profiles.get(limitProfile) : null;
    if (limitProfileId === undefined) refuse('limitProfile', `the app ${app.slug} has no such limit profile`);
    const expiresAt = readDate(license.expiresAt);
    if (expiresAt === 'invalid') refuse('expiresAt', 'must be a time of the years 1 to 9999');
    const graceDays = license.graceDays ?? app.defaultGraceDays;
    if (expiresAt instanceof Date && endsTooLate(expiresAt, graceDays))
      refuse('expiresAt', `${ENDS_TOO_LATE}; the grace is ${graceDays} days`);
    const createdAt = readDate(license.createdAt);
    if (createdAt === 'invalid') refuse('createdAt', 'must be a time of the years 1 to 9999');
    else if (createdAt !== null && createdAt > now) refuse('createdAt', 'must not be in the future');
    if (errors.every(({ field }) => field !== 'licenseKey')) {
      if (!hasSymbols(licenseKey)) refuse('licenseKey', 'must not consist of spaces and dashes only');
      else if (licenseKey.length < MIN_KEY_LENGTH && !allowShort) refuse('licenseKey', TOO_SHORT);
    }
    if (errors.length > 0 || expiresAt === 'invalid' || createdAt === 'invalid') return errors;
    const stored = storedForm(licenseKey, pepper);
    const known = stored.keyHash.toString('latin1');
    const first = lines.get(known);
    if (first !== undefined) {
      refuse('licenseKey', `is the same as in line ${first}: each license needs a key of its own`);
      return errors;
    }
    lines.set(known, line);
    const { customer: name, customerEmail: email, customerRef: ref } = license;
    return {
      line,
      ...stored,
      seatLimit: license.seatLimit || app.defaultSeatLimit,
      limits: limitsFromProto(license.limits) ?? null,
      limitProfileId: limitProfileId ?? null,
      // 0 means none, as in IssueLicenses.
      leaseDays: (license.leaseDays ?? app.defaultLeaseDays) || null,
      graceDays,
      expiresAt,
      features: license.features.toSorted(),
      metadata: { ...license.metadata },
      createdAt: createdAt ?? now,
      revoked: license.revoked,
      customer: name + email + ref === '' ? undefined : { name, email, ref },
    };
  };
}

const TOO_SHORT =
  `has fewer than ${MIN_KEY_LENGTH} characters, so others could guess it: ` +
  'allow short keys to import it anyway';

function readDate(timestamp: Timestamp | undefined): Date | null | 'invalid' {
  if (timestamp === undefined) return null;
  try {
    return readTimestamp('', timestamp);
  } catch {
    return 'invalid';
  }
}
