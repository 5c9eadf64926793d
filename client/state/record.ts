// The record that a client stores between runs, and its text format.

import { LicenseError } from '../errors.ts';
import type { UnconfirmedRefusal } from '../hub/unconfirmed-refusal.ts';
import { encodeBase64url } from '../license/base64url.ts';
import { type PublicPoint, pointOfJwk, sha256 } from '../license/public-key.ts';
import { parseRfc3339 } from '../license/rfc3339.ts';
import { isJsonObject, isTexts, type JsonObject, parseJsonObject } from '../license/strict-json.ts';
import { type EndCode, isEndCode } from '../verdict/reasons.ts';

/**
 * Not trusted when read: the license is verified again and its key must be pinned. Times are RFC 3339 UTC with
 * milliseconds.
 */
export type LicenseRecord = {
  /** The signed license; `end` replaces it when the license has ended. */
  readonly license?: JsonObject;
  readonly end?: { readonly code: EndCode; readonly licenseId: string };
  /** The signing key, for applications that pin only its thumbprint. */
  readonly key?: PublicPoint;
  readonly licenseKey?: string;
  /** Replaces `licenseKey` with `keepLicenseKey: false`. */
  readonly licenseKeyHash?: string;
  readonly unconfirmedRefusal?: UnconfirmedRefusal;
  /** The hub has suspended the license, which stays here until the hub resumes or ends it. */
  readonly isSuspended?: boolean;
  /** Changed terms, or a new lease, have not been fetched yet. */
  readonly hasChangedTerms?: boolean;
  /** License keys of replaced licenses whose seats still have to be released. */
  readonly toRelease?: readonly string[];
  /** The latest known time: from the hub, or from the machine's clock when the license was last used. */
  readonly seenAt: string;
  /** Time of the last answer of the hub. */
  readonly checkedAt: string;
  /** Seconds from `checkedAt` to the next soft check. */
  readonly recheckAfterSeconds: number;
};

/** Version of the format, at the start of the text. */
const FORM = 'hubctl-license-1';
const TEXT = new RegExp(`^${FORM} ([A-Za-z0-9_-]{43})\\n(.*)\\n$`, 's');

/** The checksum detects damage and careless edits. It is not a secret. */
export async function writeRecord(record: LicenseRecord): Promise<string> {
  const text = JSON.stringify(record);
  return `${FORM} ${await checksumOf(text)}\n${text}\n`;
}

/** Rejects with LicenseError `record_unreadable`. */
export async function readRecord(text: string): Promise<LicenseRecord> {
  const [, checksum, body = ''] = TEXT.exec(text) ?? [];
  if (checksum === undefined) throw unreadable('it is damaged or has another format version');
  if ((await checksumOf(body)) !== checksum) throw unreadable('its checksum does not match');
  const record = parseJsonObject(body);
  if (record === undefined || !isRecord(record)) throw unreadable('it has invalid members');
  return record;
}

/** Whether two records contain the same copy of a license, or the same end, or nothing. */
export function isSameLicense(one?: LicenseRecord, other?: LicenseRecord): boolean {
  return JSON.stringify(one?.license ?? one?.end) === JSON.stringify(other?.license ?? other?.end);
}

async function checksumOf(text: string): Promise<string> {
  return encodeBase64url(new Uint8Array(await sha256(`${FORM}\n${text}`)));
}

function isRecord(value: JsonObject): value is JsonObject & LicenseRecord {
  const { license, end, key, licenseKey, licenseKeyHash, unconfirmedRefusal, toRelease } = value;
  const { isSuspended, hasChangedTerms } = value;
  const { seenAt, checkedAt, recheckAfterSeconds } = value;
  return (
    (license === undefined ? isEnd(end) : isJsonObject(license) && end === undefined) &&
    (key === undefined || (isJsonObject(key) && pointOfJwk(key) !== undefined)) &&
    [licenseKey, licenseKeyHash].every((text) => text === undefined || typeof text === 'string') &&
    (unconfirmedRefusal === undefined || isUnconfirmedRefusal(unconfirmedRefusal)) &&
    [isSuspended, hasChangedTerms].every((flag) => flag === undefined || typeof flag === 'boolean') &&
    (toRelease === undefined || isTexts(toRelease)) &&
    parseRfc3339(seenAt) !== undefined &&
    parseRfc3339(checkedAt) !== undefined &&
    typeof recheckAfterSeconds === 'number'
  );
}

function isEnd(value: unknown): boolean {
  return isJsonObject(value) && isEndCode(value['code']) && typeof value['licenseId'] === 'string';
}

function isUnconfirmedRefusal(value: unknown): boolean {
  if (!isJsonObject(value) || !isEndCode(value['code'])) return false;
  return parseRfc3339(value['since']) !== undefined && Number.isInteger(value['answers']);
}

function unreadable(what: string): LicenseError {
  return new LicenseError('record_unreadable', `the stored record cannot be read: ${what}`);
}
